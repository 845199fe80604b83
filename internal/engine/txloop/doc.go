// Package txloop is the one busy loop of the engines that take frames from user space: it fills the frames of an
// engine.Ring from a program's image and hands them over, as fast as the ring takes them or on an absolute schedule.
//
// A Loop has one worker for each queue: a goroutine locked to a thread of its own, which is pinned to a core and ends with
// the run. The worker owns its ring, its image and the frames between Reserve and Commit; nobody else touches them.
// Counters may be called from any goroutine: each worker publishes its counts after every batch, in memory that no other
// worker writes. New allocates everything; a batch allocates nothing, whatever happens.
package txloop
