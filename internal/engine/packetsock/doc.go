// Package packetsock sends and receives through AF_PACKET sockets: any Linux, any device, no program in the kernel.
//
// Sending is sendmmsg(2) from the loop of package txloop, one socket per queue, past the qdisc (PACKET_QDISC_BYPASS) or
// with ?qdisc=use through it. Each ring belongs to its worker's goroutine. Receiving is a TPACKET_V3 ring that one pinned
// thread walks block by block into package analyse, under a lock that is taken once a block; frames go on to the kernel.
// With a recorder of package capture the same thread makes of each frame what was on the wire and hands it over.
// Sockets are made inside the device's network namespace and belong to it; threads stay where they are. Everything that
// is set up dies with its socket, so a crash leaves nothing behind.
package packetsock
