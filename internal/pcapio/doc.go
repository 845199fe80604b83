// Package pcapio reads and writes capture files: pcap and pcapng.
//
// A Reader belongs to one goroutine. The bytes of a Packet are the reader's own and valid until the next call of Next. A
// Writer belongs to one goroutine too; it keeps nothing of what it is given.
package pcapio
