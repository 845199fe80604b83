package program_test

import (
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// layer makes a layer of pairs of field name and value: a stream.Value, or text in the field's notation. "data" takes
// bytes.
func layer(t testing.TB, kind string, pairs ...any) stream.Layer {
	t.Helper()
	k := packet.Lookup(kind)
	var fields []stream.FieldValue
	var data []byte
	for i := 0; i < len(pairs); i += 2 {
		if bytes, ok := pairs[i+1].([]byte); ok {
			data = bytes
			continue
		}
		f := k.Field(pairs[i].(string))
		if f == nil {
			t.Fatalf("%s has no field %v", kind, pairs[i])
		}
		v, ok := pairs[i+1].(stream.Value)
		if !ok {
			v.Start = num(t, f, pairs[i+1].(string))
		}
		fields = append(fields, stream.FieldValue{Field: f, Value: v})
	}
	if kind == "raw" && data == nil {
		data = []byte{0xde, 0xad, 0xbe, 0xef}
	}
	l, err := stream.NewLayer(k, fields, data)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func num(t testing.TB, f *packet.Field, s string) packet.Num {
	t.Helper()
	n, err := packet.ParseNum(f, s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func inc(start, step, count uint64) stream.Value {
	return stream.Value{Op: stream.Inc, Start: packet.Num{Lo: start}, Step: packet.Num{Lo: step}, Count: count}
}

func dec(start, step, count uint64) stream.Value {
	return stream.Value{Op: stream.Dec, Start: packet.Num{Lo: start}, Step: packet.Num{Lo: step}, Count: count}
}

func random(low, high, seed uint64) stream.Value {
	return stream.Value{Op: stream.Rand, Start: packet.Num{Lo: low}, Max: packet.Num{Lo: high}, Seed: seed}
}

func list(values ...uint64) stream.Value {
	v := stream.Value{Op: stream.List}
	for _, n := range values {
		v.List = append(v.List, packet.Num{Lo: n})
	}
	return v
}

// of makes a stream of one weight and the given sizes.
func of(name string, layers []stream.Layer, sizes ...int) stream.Stream {
	return stream.Stream{Name: name, Weight: 1, Size: stream.Sizes{Cycle: sizes}, Layers: layers}
}

func udp4(t testing.TB) []stream.Layer {
	return []stream.Layer{layer(t, "eth"), layer(t, "ip"), layer(t, "udp")}
}

func compile(t testing.TB, streams ...stream.Stream) *program.Program {
	t.Helper()
	p, err := program.Compile(&stream.Set{Streams: streams})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// next fills one frame in a buffer that is full of something else.
func next(t testing.TB, im *program.Image, stamp uint64) program.Frame {
	t.Helper()
	f := []program.Frame{{Buf: dirty()}}
	if im.Fill(f, stamp) != 1 {
		t.Fatal("Fill wrote nothing")
	}
	return f[0]
}

func dirty() []byte {
	b := make([]byte, 2048)
	for i := range b {
		b[i] = 0xa5
	}
	return b
}
