package pcapio

import "io"

// firstBuffer is what is read at once: it fits the second-level cache, so what is read is there when it is looked at.
const firstBuffer = 256 << 10

// maxIdle is how many reads in a row may bring nothing.
const maxIdle = 100

// A window shows the next bytes of a stream in one piece, without copying them where it can. It grows only when it is full,
// so no length that a file claims takes more memory than the file has bytes, twice.
type window struct {
	r      io.Reader
	buf    []byte
	lo, hi int   // buf[lo:hi] is read and not yet skipped
	offset int64 // in the stream, of buf[0]
	err    error // what ended the stream; io.EOF is its regular end
}

// at is the place in the stream of the next byte.
func (w *window) at() int64 { return w.offset + int64(w.lo) }

// peek shows the next n bytes, fewer only where the stream ends before. They are valid until the next peek or skip.
func (w *window) peek(n int) []byte {
	if w.hi-w.lo < n {
		w.fill(n)
	}
	return w.buf[w.lo:min(w.hi, w.lo+n)]
}

// fill reads until n bytes are there.
func (w *window) fill(n int) {
	if w.lo > 0 {
		copy(w.buf, w.buf[w.lo:w.hi])
		w.offset += int64(w.lo)
		w.lo, w.hi = 0, w.hi-w.lo
	}
	for idle := 0; w.hi < n && w.err == nil; {
		if w.hi == len(w.buf) {
			larger := make([]byte, max(firstBuffer, 2*len(w.buf)))
			copy(larger, w.buf)
			w.buf = larger
		}
		m, err := w.r.Read(w.buf[w.hi:])
		w.hi += m
		if idle++; m > 0 {
			idle = 0
		}
		if w.err = err; err == nil && idle == maxIdle {
			w.err = io.ErrNoProgress
		}
	}
}

// skip passes over n bytes and reports how many there were.
func (w *window) skip(n int64) (skipped int64) {
	for {
		m := min(n-skipped, int64(w.hi-w.lo))
		w.lo += int(m)
		if skipped += m; skipped == n || len(w.peek(1)) == 0 {
			return skipped
		}
	}
}
