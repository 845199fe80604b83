// Package pcapio reads and writes capture files: pcap and pcapng.
//
// A Reader belongs to one goroutine. The bytes of a Packet are the reader's own and valid until the next call of Next. A
// Writer belongs to one goroutine too; it keeps nothing of what it is given.
//
// Reading walks over the file in a buffer of 256 KiB and shows each packet where it lies, so a packet costs no copy and no
// call of the file below. gopacket's pcapgo, which tests hold reader and writer against, is not enough for it:
//
//   - It does not say where a packet or a damage lies in the file, whether a packet has a time, how long its FCS is, or that
//     it was merged: the flags it reads are of one byte order only.
//   - It cannot tell a file that is cut from one that lies: a block of a length that cannot be ends like the file
//     (block-of-0.pcapng, packet-of-4gib.pcapng and their like), a file that ends behind the head of a record ends like a
//     whole one (cut-before-packet.pcap), and the second length of a block is not looked at (lengths-differ.pcapng).
//   - It takes a resolution of a whole second for microseconds (resolutions.pcapng), divides by a resolution that 64 bits do
//     not hold (resolution-25.pcapng), and refuses pcap's modified kind (modified-little.pcap).
//   - It reads through two layers of io.Reader and makes a time.Time of every packet: 2.2 times as long as here for pcap, 3
//     times for pcapng. Its writer allocates for every packet that has flags or a comment.
//
// The inputs are those of pcaptest; a test fails when pcapgo comes to read one of them otherwise.
package pcapio
