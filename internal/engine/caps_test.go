package engine

import (
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/program"
)

func TestCarriesNoLongerFrames(t *testing.T) {
	for _, x := range []struct {
		name            string
		size            int // with FCS
		most, mtu, peer int
		say             string // empty: carried
	}{
		{"whole", 1518, 1518, 1500, 1500, ""},
		{"MTU", 1519, 1518, 1500, 0, "the 1518 that va takes at its MTU of 1500"},
		{"the engine's own limit", 3413, 3412, 9000, 9000, "the 3412 that this engine can send"},
		{"a tag's room at the peer", 1522, 9018, 9000, 1500, ""},
		{"the peer's MTU", 1523, 9018, 9000, 1500, "the 1522 that the peer of va takes at its MTU of 1500"},
		{"a peer that was not found", 1523, 9018, 9000, 0, ""},
	} {
		c := Caps{Engine: "test", MaxFrame: x.most, MaxQueues: 1, Link: Link{Name: "va", MTU: x.mtu, PeerMTU: x.peer}}
		p := Plan{Queues: 1, Program: &program.Program{Streams: []program.Stream{{Heads: [][]byte{make([]byte, 14)}, Lens: []int{x.size - 4}}}}}
		err := c.Carries(p)
		if (err == nil) != (x.say == "") || err != nil && !strings.Contains(err.Error(), x.say) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

// An engine that preloads refuses what is read meanwhile before it is opened.
func TestCarriesASourceOnlyWhereItIsRead(t *testing.T) {
	for preloads, say := range map[bool]string{false: "", true: "give --preload"} {
		c := Caps{Engine: "test", MaxFrame: 1518, MaxQueues: 1, Preloads: preloads}
		err := c.Carries(Plan{Queues: 1, Program: &program.Program{Streams: []program.Stream{{Lens: []int{60}}}, Source: noSource{}}})
		if (err == nil) != (say == "") || err != nil && !strings.Contains(err.Error(), say) {
			t.Errorf("preloads %v: %v", preloads, err)
		}
	}
}

type noSource struct{}

func (noSource) Next() (*program.Sequence, program.SourceState) { return nil, program.SourceEnd }
func (noSource) Err() error                                     { return nil }

func TestCarriesNoMoreTagsThanAReceiverReads(t *testing.T) {
	for _, x := range []struct {
		most, tags int
		carried    bool
	}{{4, 4, true}, {4, 5, false}, {0, 9, true}} {
		err := Caps{Engine: "test", MaxVLANs: x.most}.CarriesReceive(Expect{VLANs: x.tags})
		if (err == nil) != x.carried || err != nil && !strings.Contains(err.Error(), "5 VLAN tags, more than the 4") {
			t.Errorf("%d tags where %d are read: %v", x.tags, x.most, err)
		}
	}
}
