// Package trial runs one trial: load and duration in, result out. It opens receivers and ports, lets them run, drains,
// settles, reads every counter once and reconciles them into a report.
//
// A Runner may be used for one run at a time. Everything it opens it closes, also when a run fails or is cancelled.
package trial
