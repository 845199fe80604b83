// Package lab makes test topologies: network namespaces joined by veth pairs, the private ones of a demonstration, and
// a user-space forwarder that hurts chosen frames. Labs are registered on disk before they are made, so that a crash
// leaves nothing that cannot be found and removed.
//
// Functions are safe from any goroutine unless they say otherwise; a Forwarder owns its threads and buffers.
package lab
