// Package txloop is the one busy loop of the engines that take frames from user space: it fills the frames of an
// engine.Ring from a program's image and hands them over, as fast as the ring takes them or on an absolute schedule.
//
// A Loop has one worker for each queue: a goroutine locked to a thread of its own, which is pinned to a core and ends with
// the run. The worker owns its ring, its image and the frames between Reserve and Commit; nobody else touches them.
// Counters may be called from any goroutine: each worker publishes its counts after every batch, in memory that no other
// worker writes. New allocates everything; a batch allocates nothing, whatever happens.
//
// Frames of a recorded sequence leave when it says: the next is due at a time of its own, no frame leaves before, and only
// frames that are due within some microseconds of each other share a system call. A source that is read while it is sent is
// asked for its next piece without waiting in it. With a virtual clock nothing waits but for the source: the clock is set to
// when the next frame is due.
//
// A worker that waits for the next frame spins, and holds one of the Go scheduler's processors (GOMAXPROCS) meanwhile. Where
// all are held others wait until the scheduler takes one away, up to 10 ms, and so does the worker that lost it: a program
// that paces should have as many of them as queues beyond the machine's CPUs, so that the kernel shares the cores instead.
package txloop
