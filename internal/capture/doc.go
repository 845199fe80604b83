// Package capture writes what a receiver sees to capture files: names and rotation, what happens when a disk is full, and
// socket filters as tcpdump prints them.
//
// A Recorder belongs to the receiver's goroutine: Frame copies the frame into the file's buffer, so that the ring may reuse
// its memory on return. Create and Discard are called before that goroutine starts, Close and Result after it has ended,
// Over may be called from any goroutine at any time.
package capture
