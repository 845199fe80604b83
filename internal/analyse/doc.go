// Package analyse turns frames into counts: what of a run arrived, what was lost, duplicated, reordered or corrupt, how
// long it took and how evenly it came. It is the user-space analysis; the XDP receiver does the same in the kernel, less
// the finer measures of order.
//
// An Analyser belongs to one goroutine at a time; callers that read Snapshot from another hold a lock of their own, once
// a batch. Frame reads the bytes that it is given and keeps none. It allocates nothing, but for the first frame of a
// stream id that was not announced (Expect.Learn).
package analyse
