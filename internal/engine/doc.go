// Package engine is the seam between a stream and a wire: what an engine promises, what a plan asks for, what was
// counted.
//
// A Port is used by one goroutine at a time, except Counters, which may be called from any goroutine during Run; the same
// holds for Receiver and Snapshot. Whoever opens a Port or Receiver closes it. The registry of engines is a value,
// []Engine in order of speed, built by the command line.
package engine
