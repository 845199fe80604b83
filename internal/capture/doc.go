// Package capture writes what a receiver sees to capture files: names and rotation, what happens when a disk is full, and
// socket filters as tcpdump prints them.
//
// A Recorder belongs to one goroutine at a time, the receiver's while it runs: Frame copies the frame into the file's buffer,
// so that the ring may reuse its memory on return. Over alone may be called from any goroutine at any time.
package capture
