// Package packet knows the bytes of frames: header kinds as tables, views over []byte, Internet checksums and the
// test signature.
//
// It is pure: it allocates nothing that it does not return, keeps no state, and every function may be called from any
// goroutine. Byte slices belong to the caller. Lengths of frames here are without the FCS, as they lie in memory.
package packet
