// Package host reads facts about this machine and its network namespaces. It is read-only: it changes nothing.
//
// NS is a handle on a network namespace; it may be used from any goroutine. Do runs a function on a thread of its own inside
// the namespace; that thread ends afterwards, so nothing leaks into the pool. All other functions are safe from any
// goroutine.
package host
