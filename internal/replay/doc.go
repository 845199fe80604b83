// Package replay makes of a capture what a port sends: it reads the file, leaves out or refuses what cannot be sent, rewrites
// fields with every checksum kept as right or wrong as it was, puts signatures in, and works out when each frame is due.
//
// Open reads a file once in full, so that all that is wrong with it is known before the first frame leaves. What fits in
// memory becomes a program.Sequence, which any number of goroutines may read. What does not is read a second time while it is
// sent: a goroutine fills a few chunks ahead, Source hands them over. A chunk belongs to who called Next until the next call.
// Close ends the goroutine.
package replay
