package trial

import (
	"slices"
	"strings"

	"github.com/wirespeed/wirespeed/internal/packet"
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// How many of a stream's frames are looked at: the first in any case, then up to the last limit one of each length.
const (
	recogniseFirst = 64
	recogniseMost  = 1 << 16
)

// recognisable refuses streams whose signature no receiver would find: fields given by hand can hide it, or make every frame
// look corrupt, and all of them would then count as lost.
func (x *sender) recognisable() error {
	p := &x.plan
	for i := range p.Program.Streams {
		st := &p.Program.Streams[i]
		id := p.IDBase + uint16(i*p.Queues)
		if st.Form == packet.FormNone || recognised(st, p.Run, id) {
			continue
		}
		return Usage("--signature none: the ports' counts are then compared", "stream %q: with %s its frames would not be recognised by a receiver",
			st.Name, strings.Join(hiding(st.Set, p.Run, id), ", "))
	}
	return nil
}

// recognised is whether a receiver finds in the stream's frames the signature that belongs there, and everything whole.
func recognised(st *program.Stream, run uint8, id uint16) bool {
	alone := program.Program{Streams: []program.Stream{*st}, Order: []uint16{0}}
	im := alone.Bind(program.Binding{Run: run, IDBase: id, Queues: 1, TimeKind: packet.TimeFrame})
	frame := []program.Frame{{Buf: make([]byte, st.Lens[len(st.Lens)-1])}}
	seen := map[int]bool{}
	for k := 0; k < recogniseFirst || k < recogniseMost && len(seen) < len(st.Lens); k++ {
		if im.Fill(frame, 1) == 0 {
			return false
		}
		n := frame[0].Len
		if (k < recogniseFirst || !seen[n]) && !carries(frame[0].Buf[:n], st.Form, run, id, uint32(k)) {
			return false
		}
		seen[n] = true
	}
	return true
}

// carries looks at one frame as the receivers do. None takes a fragment for a whole frame, whichever it be.
func carries(frame []byte, form packet.Form, run uint8, id uint16, seq uint32) bool {
	l, ok := packet.Walk(frame)
	if !ok || l.BadLength || l.Fragment || !packet.VerifyL4(frame, &l) {
		return false
	}
	sig, ok := packet.ParseSignature(frame[l.Payload:l.End])
	if form == packet.FormShort {
		id &= 0xff
	}
	return ok && sig.Form == form && sig.Run == run && sig.Stream == id && sig.Seq == seq
}

// hiding are the given fields that are at fault: given one after the other, each is kept unless it hides the signature.
func hiding(st *stream.Stream, run uint8, id uint16) (guilty []string) {
	set := (&stream.Set{Streams: []stream.Stream{*st}}).Clone()
	layers := set.Streams[0].Layers
	for i := range layers {
		layers[i].Fields = nil
	}
	for i, l := range st.Layers {
		for _, v := range l.Fields {
			before := layers[i].Fields
			layers[i].Fields = append(slices.Clone(before), v)
			p, err := program.Compile(set)
			if err != nil || p.Streams[0].Form == packet.FormNone || !recognised(&p.Streams[0], run, id) {
				layers[i].Fields = before
				guilty = append(guilty, l.Kind.Wireshark(v.Field))
			}
		}
	}
	if len(guilty) == 0 {
		return []string{"these layers"}
	}
	return guilty
}
