// Package xdp sends and receives in the kernel's XDP hook.
//
// Sending uses live frames: BPF_PROG_RUN with BPF_F_TEST_XDP_LIVE_FRAMES (Linux 5.18) runs a program on pages that the
// kernel then hands to the device's ndo_xdp_xmit. The stream is compiled into that program: modifiers, sequence number,
// time, checksum, pacing and the exact count all run in the kernel, and no Go code runs per frame.
//
// One worker per queue: a goroutine locked to a thread that is pinned to a CPU and lives in the device's network namespace,
// with its own program and its own state, which is mapped memory. The worker writes the state between calls; while a call
// runs the kernel owns it and everybody else reads it. The thread ends with the run.
//
// What the kernel does not say: a veth whose peer has neither an XDP program nor GRO takes live frames and loses them
// without a count. So the device's own counters are watched during the run.
package xdp

// Engine is the XDP engine. The zero value is ready.
type Engine struct{}

// New is the engine.
func New() *Engine { return &Engine{} }

// Name is what stands before the colon in a port's address.
func (*Engine) Name() string { return "xdp" }
