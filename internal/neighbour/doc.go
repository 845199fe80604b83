// Package neighbour makes an address of a port answer on its network, without giving it to the kernel: a Node answers ARP
// requests (RFC 826) and neighbour solicitations (RFC 4861) for the one address that it has, and asks for those of others.
// Nothing else ever leaves it.
//
// A Node owns a packet socket and one goroutine, from Start to Close; its methods may be called from any goroutine.
package neighbour
