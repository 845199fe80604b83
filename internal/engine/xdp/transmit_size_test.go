package xdp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/lab/labtest"
	"github.com/wirespeed/wirespeed/internal/program"
)

// Of the sizes that users send, those arrive byte for byte that MTU and live frames allow, and the others are refused with the
// limit: as a stream and as a replay.
func TestSizes(t *testing.T) {
	pair := labtest.TestPair(t, "t-xdptx", 1)
	for _, c := range []struct {
		mtu   string
		tags  int
		sizes []int  // with FCS
		limit string // of an error; empty: they arrive
	}{
		{"1500", 0, []int{64, 65, 66, 1517, 1518}, ""},
		{"1500", 0, []int{1519, 1522, 1526, 9000, 16110}, "more than the 1518 that va takes at its MTU of 1500"},
		{"1500", 1, []int{1522}, ""},
		{"1500", 1, []int{1523, 9018}, "more than the 1522 that va takes at its MTU of 1500"},
		{"1500", 2, []int{1522}, ""},
		{"1500", 2, []int{1526}, "more than the 1522 that va takes at its MTU of 1500"},
		{"3450", 0, []int{1519, 3412}, ""},
		{"3450", 1, []int{3411, 3412}, ""},
		{"3450", 0, []int{3413, 9000, 9014, 9018, 9216, 9728, 16110}, "more than the 3412 that this engine can send"},
	} {
		t.Run(fmt.Sprintf("MTU %s, %d tags, %v", c.mtu, c.tags, c.sizes), func(t *testing.T) {
			mtu(t, pair, c.mtu)
			attach(t, pair, actionPass)
			read := capture(t, pair)
			port := openPort(t, pair, engine.Config{})
			for _, size := range c.sizes {
				made := parsed(t, fmt.Sprintf("streams: [{size: %d, signature: none, payload: {fill: inc}, layers: [eth, %sip, udp]}]", size, strings.Repeat("vlan, ", c.tags)))
				frame := []program.Frame{{Buf: make([]byte, 1<<14)}}
				made.Bind(program.Binding{Queues: 1}).Fill(frame, 0)
				want := frame[0].Buf[:size-4]
				replay := replayOf(1, size-4)
				copy(replay.Sequence.Bytes, want)
				for _, p := range []*program.Program{made, replay} {
					plan := engine.Plan{Program: p, Queues: 1, Count: 1}
					if c.limit != "" {
						if err := port.Load(plan); err == nil || !strings.Contains(err.Error(), c.limit) {
							t.Errorf("%d bytes: %v, want %q", size, err, c.limit)
						}
						continue
					}
					if n, _ := run(t, t.Context(), port, plan); n.Total().Sent != 1 || n.Total().Bytes != uint64(size) {
						t.Errorf("%d bytes: %+v", size, n)
					}
					got := read(1)
					if c.tags > 0 { // the kernel puts the outermost tag beside the frame
						want = slices.Concat(frame[0].Buf[:12], frame[0].Buf[16:size-4])
					}
					if len(got) != 1 || !bytes.Equal(got[0], want) {
						t.Errorf("%d bytes: arrived %x\nwant %x", size, got, want)
					}
				}
			}
		})
	}
}
