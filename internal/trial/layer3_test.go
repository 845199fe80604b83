package trial

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// An address that is proposed beside a gateway is one that the check takes.
func TestBesideIsTaken(t *testing.T) {
	for _, g := range []string{"198.18.255.254", "198.18.0.1", "198.18.0.2", "198.18.0.0", "223.255.255.255", "2001:2::fffe", "2001:2::1", "2001:2::"} {
		gateway := netip.MustParseAddr(g)
		port, err := netip.ParsePrefix(beside(gateway))
		if err != nil {
			t.Fatal(err)
		}
		if host := port.Addr(); host == port.Masked().Addr() || host.As16()[15] == 255 {
			t.Errorf("%s: %s is no host's address", g, host)
		}
		l := Layer3{Tx: port, Gateway: gateway}
		if err := l.check(&Spec{Set: &stream.Set{}, Tx: make([]engine.Target, 1)}); err != nil {
			t.Errorf("%s: %s is refused: %v", g, port, err)
		}
	}
}

// fields are a stream's values by header and field.
func fields(s *stream.Stream) map[string]stream.Value {
	all := map[string]stream.Value{}
	for _, l := range s.Layers {
		for _, v := range l.Fields {
			all[l.Kind.Name+"."+v.Field.Name] = v.Value
		}
	}
	return all
}

// The set is filled where its author left it open; the author's own set stays as it was.
func TestAddressedIsACopy(t *testing.T) {
	set, err := stream.FromFlags(stream.Flags{Size: "128", DstIP: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	before := len(fields(&set.Streams[0]))
	u := &run{spec: Spec{Layer3: Layer3{Tx: netip.MustParsePrefix("198.18.0.1/16"), Rx: netip.MustParsePrefix("198.18.0.2/16")}}}
	got := fields(&u.addressed(set).Streams[0])
	if _, is := got["ip.ttl"]; is || got["ip.src"].Start.Lo != 0xc6120001 || got["ip.dst"].Start.Lo != 0xc0000201 {
		t.Errorf("without a gateway: %+v", got)
	}
	u.gatewayMAC = &[6]byte{2, 0, 0, 0, 0, 0xee}
	if got := fields(&u.addressed(set).Streams[0]); got["ip.ttl"].Start.Lo != gatewayTTL {
		t.Errorf("with a gateway: %+v", got)
	}
	if after := len(fields(&set.Streams[0])); after != before {
		t.Errorf("the author's set has %d fields, had %d", after, before)
	}
	u.spec.Layer3 = Layer3{}
	if u.addressed(set) != set {
		t.Error("without addresses the set is copied")
	}
}

// A replay's frames go to the gateway, unless their destination is given.
func TestReplayGoesToTheGateway(t *testing.T) {
	u := &run{spec: Spec{Layer3: Layer3{Tx: netip.MustParsePrefix("198.18.0.1/16")}}, gatewayMAC: &[6]byte{2, 0, 0, 0, 1, 0xee}}
	set := &stream.Set{Replay: &stream.Replay{File: "x.pcap"}}
	edits := u.addressed(set).Replay.Edits
	if len(edits) != 1 || edits[0].Flag != "dst_mac" || edits[0].Value.Start.Lo != 0x0200000001ee {
		t.Errorf("%+v", edits)
	}
	if len(set.Replay.Edits) != 0 {
		t.Error("the author's replay was changed")
	}
	eth := packet.Lookup("eth")
	set.Replay.Edits = []stream.Edit{{Flag: "dst_mac", Kind: eth, Field: eth.Field("dst"), Value: stream.Value{Start: packet.Num{Lo: 5}}}}
	if edits := u.addressed(set).Replay.Edits; len(edits) != 1 || edits[0].Value.Start.Lo != 5 {
		t.Errorf("%+v", edits)
	}
}

// What a receiver could not know is refused, and nothing else.
func TestUnsignedNeedsSomethingToKnowItBy(t *testing.T) {
	const four, six = "198.18.255.254", "2001:2::fffe"
	ip, ipv6, arp := []byte{12: 8, 13: 0}, []byte{12: 0x86, 13: 0xdd}, []byte{12: 8, 13: 6}
	for _, c := range []struct {
		form              packet.Form
		head              []byte
		gateway           string
		rx                int
		routed, rxGateway bool
		want              string // in the mend; empty: allowed
	}{
		{packet.FormFull, ip, four, 1, true, false, ""}, {packet.FormShort, ipv6, six, 1, true, false, ""},
		{packet.FormNone, ip, four, 1, true, true, ""}, {packet.FormNone, ip, four, 0, true, false, ""}, {packet.FormNone, ipv6, six, 0, true, false, ""},
		{packet.FormNone, ip, four, 1, true, false, "--rx-gateway"}, {packet.FormNone, ip, six, 1, true, true, "give a signature"},
		{packet.FormNone, ipv6, six, 1, true, true, "give a signature"}, {packet.FormNone, ipv6, four, 1, true, true, "give a signature"},
		{packet.FormNone, ip, four, 1, false, false, ""}, {packet.FormNone, ip, six, 1, false, false, ""}, {packet.FormNone, ipv6, four, 1, false, false, ""},
		{packet.FormNone, ipv6, six, 1, false, false, "leave out --tx-ip"}, {packet.FormNone, arp, four, 1, false, false, "leave out --tx-ip"},
		{packet.FormFull, ipv6, six, 1, false, false, ""}, {packet.FormNone, arp, six, 1, false, false, ""},
	} {
		gateway := netip.MustParseAddr(c.gateway)
		u := &run{rx: make([]*receiver, c.rx), spec: Spec{Layer3: Layer3{Tx: netip.PrefixFrom(gateway.Prev(), 24), Gateway: gateway}}}
		if c.routed {
			u.gatewayMAC = &[6]byte{2, 0, 0, 0, 0, 0xee}
		}
		if c.rxGateway {
			u.rxGatewayMAC = &[6]byte{2, 0, 0, 0, 0, 0xef}
		}
		streams := []program.Stream{{Name: "ok", Form: packet.FormFull, Heads: [][]byte{c.head}}, {Name: "s", Form: c.form, Heads: [][]byte{c.head}}}
		err := u.throughRouter(&sender{plan: engine.Plan{Program: &program.Program{Streams: streams}}})
		r, _ := err.(*Refusal)
		if (c.want == "") != (err == nil) || r != nil && (r.Code != ExitUsage || !strings.Contains(r.Mend, c.want) || !strings.Contains(r.Message, `"s"`)) {
			t.Errorf("%+v: %+v", c, err)
		}
	}
}
