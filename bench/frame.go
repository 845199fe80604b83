package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// frameNoFCS is the length of every frame in memory: 64 bytes on a wire.
const frameNoFCS = 60

// frame is the one that the peers send: the same headers as wirespeed's default stream.
func frame(dst [6]byte) ([]byte, error) {
	eth := &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: dst[:], EthernetType: layers.EthernetTypeIPv4}
	ip := &layers.IPv4{Version: 4, TTL: 1, Protocol: layers.IPProtocolUDP, SrcIP: net.IPv4(198, 18, 0, 1), DstIP: net.IPv4(198, 19, 0, 1)}
	udp := &layers.UDP{SrcPort: 9, DstPort: 9}
	if err := udp.SetNetworkLayerForChecksum(ip); err != nil {
		return nil, err
	}
	b := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, eth, ip, udp, gopacket.Payload(make([]byte, frameNoFCS-42)))
	return b.Bytes(), err
}

// files are what the peers read their frames from.
type files struct{ trafgen, pcap, hex string }

// writeFiles writes the frame in each peer's own form.
func writeFiles(dir string, dst [6]byte) (f files, err error) {
	b, err := frame(dst)
	if err != nil {
		return f, err
	}
	bytes, pairs := make([]string, len(b)), make([]string, len(b))
	for i, v := range b {
		bytes[i], pairs[i] = fmt.Sprintf("0x%02x", v), fmt.Sprintf("%02x", v)
	}
	f = files{trafgen: filepath.Join(dir, "frame.cfg"), pcap: filepath.Join(dir, "frames.pcap"), hex: strings.Join(pairs, ":")}
	if err := os.WriteFile(f.trafgen, []byte("{ "+strings.Join(bytes, ", ")+" }\n"), 0o644); err != nil {
		return f, err
	}
	out, err := os.Create(f.pcap)
	if err != nil {
		return f, err
	}
	defer out.Close()
	w := pcapgo.NewWriter(out)
	if err := w.WriteFileHeader(65536, layers.LinkTypeEthernet); err != nil {
		return f, err
	}
	for range 1000 {
		ci := gopacket.CaptureInfo{Timestamp: time.Unix(0, 0), CaptureLength: len(b), Length: len(b)}
		if err := w.WritePacket(ci, b); err != nil {
			return f, err
		}
	}
	return f, out.Sync()
}
