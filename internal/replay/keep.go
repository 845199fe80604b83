package replay

import (
	"github.com/wirespeed/wirespeed/internal/program"
	"github.com/wirespeed/wirespeed/stream"
)

// What is kept in memory at most, in bytes of frames: without being asked, and when --preload asks for it.
const (
	AutoPreload = 128 << 20
	MostPreload = 1 << 30
)

// soonAll: a sequence that has grown so far gets room for all that it may come to. Memory that is not touched costs nothing,
// and growing step by step costs several times what is kept.
const soonAll = 8 << 20

// A keeper keeps the frames of a capture in memory as long as they fit.
type keeper struct {
	replay *stream.Replay
	seq    *program.Sequence // nil: they are not kept
	most   int
}

// newKeeper begins with what is known of the file: size bytes, 0: nothing.
func newKeeper(r *stream.Replay, size int64) *keeper {
	k := &keeper{replay: r, most: AutoPreload}
	switch {
	case r.Preload == stream.PreloadYes:
		k.most = MostPreload
	case r.Preload == stream.PreloadNo, size > 2*AutoPreload && r.Limit == 0: // all but tiny packets are more frame than head
		return k
	}
	k.seq = &program.Sequence{Bytes: make([]byte, 0, min(size, int64(k.most))+room)}
	return k
}

// add keeps a frame. It is refused where it must be kept and does not fit.
func (k *keeper) add(b []byte, f program.SequenceFrame) error {
	switch {
	case k.seq == nil:
		return nil
	case len(k.seq.Bytes)+len(b) <= k.most:
	case k.replay.Preload == stream.PreloadYes:
		return refuse("--no-preload reads it while it is sent", "the frames of %s take more than the %d MiB that are kept in memory", k.replay.Name(), k.most>>20)
	default:
		k.seq = nil
		return nil
	}
	if n := len(k.seq.Bytes); n > soonAll && n+room > cap(k.seq.Bytes) {
		k.seq.Bytes = append(make([]byte, 0, k.most+room), k.seq.Bytes...)
	}
	appendFrame(k.seq, b, f)
	return nil
}

// appendFrame keeps a frame, at a multiple of 8.
func appendFrame(seq *program.Sequence, b []byte, f program.SequenceFrame) {
	var zero [8]byte
	seq.Bytes = append(seq.Bytes, zero[:-len(seq.Bytes)&7]...)
	f.At = len(seq.Bytes)
	seq.Bytes = append(seq.Bytes, b...)
	seq.Frames = append(seq.Frames, f)
}
