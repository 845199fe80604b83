package bpf

import (
	"reflect"
	"testing"

	"github.com/cilium/ebpf/asm"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/packet"
)

// The Go types lie in memory as the C types do.
func TestLayout(t *testing.T) {
	for _, c := range []struct{ ours, theirs any }{
		{Record{}, analyseStream{}}, {CPU{}, analyseCpu{}}, {engine.Histogram{}, analyseHistogram{}},
	} {
		ours, theirs := reflect.TypeOf(c.ours), reflect.TypeOf(c.theirs)
		if ours.Size() != theirs.Size() || ours.NumField() != theirs.NumField()-1 {
			t.Errorf("%v: %d bytes in %d fields; the program has %d in %d", ours, ours.Size(), ours.NumField(), theirs.Size(), theirs.NumField()-1)
			continue
		}
		for i := range ours.NumField() {
			a, b := ours.Field(i), theirs.Field(i+1) // after HostLayout
			if a.Name != b.Name || a.Offset != b.Offset || a.Type.Size() != b.Type.Size() {
				t.Errorf("%v.%s at %d; the program has %s at %d", ours, a.Name, a.Offset, b.Name, b.Offset)
			}
		}
	}
}

// Where one CPU at a time updates a stream, no lock is left in the program.
func TestLockIsRemoved(t *testing.T) {
	atomics := func(locked bool) (n int) {
		o := expectOne(packet.FormFull, 0)
		o.Locked = locked
		info, err := newFeeder(t, o).Program().Info()
		if err != nil {
			t.Fatal(err)
		}
		all, err := info.Instructions()
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range all {
			if in.OpCode.Class() == asm.StXClass && in.OpCode.Mode() == asm.AtomicMode {
				n++
			}
		}
		return n
	}
	if with, without := atomics(true), atomics(false); with == 0 || without != 0 {
		t.Errorf("%d atomic instructions with the lock, %d without", with, without)
	}
}
