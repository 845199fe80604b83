package program_test

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
	"pgregory.net/rapid"
)

// The 64-byte default frame, byte by byte. The checksums are from another program.
func TestGoldenFrame(t *testing.T) {
	im := compile(t, of("a", udp4(t), 64)).Bind(program.Binding{Run: 0x2a, IDBase: 5, Queues: 1, TimeKind: packet.TimeShared})
	f := next(t, im, 0x0123456789abcdef)
	want := "020000000002" + "020000000001" + "0800" +
		"4500002e00000000" + "0111" + "2d98" + "c6120001" + "c6130001" +
		"00090009001a" + "53ce" +
		"5753" + "2a" + "34" + "0005" + "00000000" + "0123456789abcdef"
	if diff := cmp.Diff(want, hex.EncodeToString(f.Buf[:f.Len])); diff != "" {
		t.Fatal(diff)
	}
}

func TestSmallFrameOfEachForm(t *testing.T) {
	eth, vlan, ip, ipv6, udp, tcp := layer(t, "eth"), layer(t, "vlan"), layer(t, "ip"), layer(t, "ipv6"), layer(t, "udp"), layer(t, "tcp")
	for _, c := range []struct {
		layers []stream.Layer
		size   int
		want   packet.Form
	}{
		{[]stream.Layer{eth, ip, udp}, 64, packet.FormFull},
		{[]stream.Layer{eth, vlan, ip, udp}, 64, packet.FormShort},
		{[]stream.Layer{eth, vlan, ip, udp}, 68, packet.FormFull},
		{[]stream.Layer{eth, ip, tcp}, 64, packet.FormNone},
		{[]stream.Layer{eth, ip, tcp}, 66, packet.FormShort},
		{[]stream.Layer{eth, ip, tcp}, 76, packet.FormFull},
		{[]stream.Layer{eth, ipv6, udp}, 66, packet.FormNone},
		{[]stream.Layer{eth, ipv6, udp}, 74, packet.FormShort},
		{[]stream.Layer{eth}, 64, packet.FormFull},
	} {
		p := compile(t, of("a", c.layers, 1518, c.size))
		if s := &p.Streams[0]; s.Form != c.want || s.HeadLen != s.SigOff+c.want.Len() || s.HasTime != (c.want == packet.FormFull) {
			t.Errorf("size %d of %d layers: form %d, head %d", c.size, len(c.layers), s.Form, s.HeadLen)
		}
	}
}

// What does not vary is no Sum: it is in the head.
func TestConstantChecksumsAreInTheHead(t *testing.T) {
	s := &compile(t, of("a", udp4(t), 64)).Streams[0]
	if len(s.Sums) != 1 || s.Sums[0].Off != 40 {
		t.Fatalf("%+v", s.Sums)
	}
	s = &compile(t, of("a", []stream.Layer{layer(t, "eth"), layer(t, "ip", "ttl", inc(1, 1, 4)), layer(t, "udp", "checksum", "0xbad")}, 64)).Streams[0]
	if len(s.Sums) != 1 || s.Sums[0].Off != 24 {
		t.Fatalf("%+v", s.Sums)
	}
	if got := hex.EncodeToString(s.Heads[0][40:42]); got != "0bad" {
		t.Fatalf("the given checksum became %s", got)
	}
}

func TestOrderIsEven(t *testing.T) {
	weighted := func(weights ...int) []stream.Stream {
		var r []stream.Stream
		for _, w := range weights {
			s := of("a", udp4(t), 64)
			s.Weight = w
			r = append(r, s)
		}
		return r
	}
	for _, c := range []struct {
		weights []int
		want    []uint16
	}{
		{[]int{7}, []uint16{0}},
		{[]int{5, 5}, []uint16{0, 1}},
		{[]int{20, 10}, []uint16{0, 1, 0}},
		{[]int{5, 1, 1}, []uint16{0, 0, 1, 0, 2, 0, 0}},
		{[]int{0, 0}, []uint16{0, 1}},
	} {
		if got := compile(t, weighted(c.weights...)...).Order; !slices.Equal(got, c.want) {
			t.Errorf("%v: %v", c.weights, got)
		}
	}
	if _, err := program.Compile(&stream.Set{Streams: weighted(65536, 65535, 65533, 65531, 65521)}); err == nil {
		t.Error("a round of 327657 frames was taken")
	}
}

// Each stream has its weight in a round, and at every place of it as many frames as its share, give or take one for each
// other stream.
func TestOrderKeepsTheWeights(t *testing.T) {
	layers := udp4(t)
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 5).Draw(t, "weights")
		set, total := &stream.Set{}, 0
		for _, w := range weights {
			s := of("a", layers, 64)
			s.Weight = w
			set.Streams, total = append(set.Streams, s), total+w
		}
		p, err := program.Compile(set)
		if err != nil {
			t.Fatal(err)
		}
		counts := make([]int, len(weights))
		for n, s := range p.Order {
			counts[s]++
			for i, w := range weights {
				if off := counts[i]*total - (n+1)*w; off > total*len(weights) || -off > total*len(weights) {
					t.Fatalf("stream %d has %d of the first %d", i, counts[i], n+1)
				}
			}
		}
		for i, w := range weights {
			if counts[i]*total != w*len(p.Order) {
				t.Fatalf("%v became %v", weights, counts)
			}
		}
	})
}

func TestSplitMix64(t *testing.T) {
	// The reference implementation's numbers for the seed 1234567.
	for k, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431} {
		if got := program.SplitMix64(1234567, uint64(k)); got != want {
			t.Errorf("number %d is %d, want %d", k, got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	base := func(change func(s *stream.Stream)) stream.Stream {
		s := of("one", udp4(t), 64)
		change(&s)
		return s
	}
	give := func(kind int, field string, v any) func(s *stream.Stream) {
		return func(s *stream.Stream) {
			s.Layers[kind].Fields = append(s.Layers[kind].Fields, layer(t, s.Layers[kind].Kind.Name, field, v).Fields...)
		}
	}
	v6 := func(s *stream.Stream) { s.Layers[1] = layer(t, "ipv6"); s.Size.Cycle = []int{128} }
	carry := stream.Value{Op: stream.Inc, Start: packet.Num{Lo: ^uint64(0) - 5}, Step: packet.Num{Lo: 1}, Count: 65537}
	for _, c := range []struct {
		name, want string
		change     func(s *stream.Stream)
	}{
		{"no layers", "begin with eth", func(s *stream.Stream) { s.Layers = nil }},
		{"ip first", "cannot be the outermost", func(s *stream.Stream) { s.Layers = s.Layers[1:] }},
		{"udp on eth", "udp cannot stand on eth", func(s *stream.Stream) { s.Layers = []stream.Layer{s.Layers[0], s.Layers[2]} }},
		{"no size", "no frame size", func(s *stream.Stream) { s.Size.Cycle = nil }},
		{"small", "size 45 is smaller than the headers", func(s *stream.Stream) { s.Size.Cycle = []int{64, 45} }},
		{"large", "16110 is the largest", func(s *stream.Stream) { s.Size.Cycle = []int{16111} }},
		{"sizes", "the smallest comes first", func(s *stream.Stream) { s.Size = stream.Sizes{Op: stream.SizeRandom, Min: 70, Max: 69} }},
		{"full", "give a size of 64 or more", func(s *stream.Stream) { s.Signature, s.Size.Cycle = "full", []int{63} }},
		{"short", "give a size of 66 or more", func(s *stream.Stream) { s.Signature = "short"; s.Layers[2] = layer(t, "tcp") }},
		{"form", "none of full, short, none", func(s *stream.Stream) { s.Signature = "long" }},
		{"twice", "ip.dsfield and ip.dsfield.ecn are the same bits", func(s *stream.Stream) { give(1, "dsfield", "1")(s); give(1, "dsfield.ecn", "1")(s) }},
		{"port", "65536 does not fit", give(2, "dstport", stream.Value{Start: packet.Num{Lo: 65536}})},
		{"inc", "leaves the field's 16 bits after 6 of its 7", give(2, "dstport", inc(65530, 1, 7))},
		{"dec", "leaves the field's 16 bits after 6 of its 7", give(2, "dstport", dec(5, 1, 7))},
		{"product", "leaves the field", give(2, "dstport", inc(0, 1<<40, 1<<40))},
		{"count", "count of 0", give(2, "dstport", inc(1, 1, 0))},
		{"rand", "the smallest value is above the largest", give(2, "dstport", random(5, 4, 0))},
		{"rand max", "70000 does not fit", give(2, "dstport", random(5, 70000, 0))},
		{"wide rand", "power of two", give(0, "src", random(0, 1<<33, 0))},
		{"empty list", "a list of 0 values", give(2, "dstport", stream.Value{Op: stream.List})},
		{"list", "65536 does not fit", give(2, "dstport", list(1, 65536))},
		{"carry", "a carry of inc runs through more than 64 bits", func(s *stream.Stream) { v6(s); give(1, "src", carry)(s) }},
	} {
		_, err := program.Compile(&stream.Set{Streams: []stream.Stream{base(c.change)}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), `stream "one": `) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := program.Compile(&stream.Set{}); err == nil {
		t.Error("no stream was taken")
	}
}

func TestCheckBinding(t *testing.T) {
	short := of("a", udp4(t), 64)
	short.Signature = "short"
	p := compile(t, short, short)
	for _, c := range []struct {
		b  program.Binding
		ok bool
	}{
		{program.Binding{Queues: 128, Queue: 127}, true},
		{program.Binding{Queues: 128, IDBase: 1}, false},
		{program.Binding{Queues: 2, Queue: 2}, false},
		{program.Binding{}, false},
		{program.Binding{Queues: 1, LastSeq: []uint64{1}}, false},
	} {
		if err := p.CheckBinding(c.b); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.b, err)
		}
	}
	if err := compile(t, of("a", udp4(t), 64)).CheckBinding(program.Binding{Queues: 1, IDBase: 65535}); err != nil {
		t.Error(err)
	}
}

// Sweeps and lists of sizes keep their order; Lens are the distinct ones.
func TestSizes(t *testing.T) {
	p := compile(t, of("a", udp4(t), 128, 64, 128, 1518))
	s := &p.Streams[0]
	if diff := cmp.Diff([]int{60, 124, 1514}, s.Lens); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]uint16{1, 0, 1, 2}, s.Cycle); diff != "" {
		t.Error(diff)
	}
}
