package cli

import "github.com/wirespeed/wirespeed/stream"

// StreamFlags describe what is sent. Every field takes a value or inc(start,step,count), dec(start,step,count),
// rand(min,max,seed), list(a,b,...).
type StreamFlags struct {
	File      string `short:"f" help:"Stream definition in YAML or JSON; of the stream flags only --rate goes with it." placeholder:"FILE" group:"stream"`
	Size      string `help:"Bytes with FCS: 64, 64,128,1518, 64-1518, 64-1518/64, rand(64,1518,seed), imix or imix:64:7,570:4,1518:1. Default: the smallest that holds headers and signature." placeholder:"SIZE" group:"stream"`
	SrcMAC    string `name:"src-mac" help:"Source MAC address. Default: the port's own." placeholder:"MAC" group:"stream"`
	DstMAC    string `name:"dst-mac" help:"Destination MAC address. Default: the --rx port's, else a veth's peer's." placeholder:"MAC" group:"stream"`
	SrcIP     string `name:"src-ip" help:"Source address, IPv4 or IPv6. Default 198.18.0.1 or 2001:2::1." placeholder:"IP" group:"stream"`
	DstIP     string `name:"dst-ip" help:"Destination address, IPv4 or IPv6. Default 198.19.0.1 or 2001:2:0:1::1." placeholder:"IP" group:"stream"`
	SrcPort   string `name:"src-port" help:"Source port. Default 9." placeholder:"PORT" group:"stream"`
	DstPort   string `name:"dst-port" help:"Destination port. Default 9 (discard)." placeholder:"PORT" group:"stream"`
	Proto     string `help:"udp or tcp. Default udp." placeholder:"PROTO" group:"stream"`
	VLAN      string `name:"vlan" help:"VLAN tags, outermost first: 100, 100,200 or 0x88a8:100,200." placeholder:"TAGS" group:"stream"`
	TTL       string `name:"ttl" help:"Time to live or hop limit. Default 1." placeholder:"TTL" group:"stream"`
	Payload   string `help:"What fills the frame behind the signature: 0x00 (any byte), inc, random(seed), hex:DEADBEEF or text:hello." placeholder:"FILL" group:"stream"`
	Signature string `help:"auto (the largest that fits), full, short or none." placeholder:"FORM" group:"stream"`
	Rate      string `help:"max, 1.2Mpps, 500Mbps@L1, 500Mbps@L2, 87.5% or gap=10us. Default max." placeholder:"RATE" group:"stream"`
	Burst     string `help:"Frames back to back, and the time from burst to burst: 32/1ms." placeholder:"N/GAP" group:"stream"`
}

// set makes the definition; its error is a stream.Errors.
func (f *StreamFlags) set() (*stream.Set, error) {
	return stream.FromFlags(stream.Flags{
		File: f.File, Size: f.Size, SrcMAC: f.SrcMAC, DstMAC: f.DstMAC, SrcIP: f.SrcIP, DstIP: f.DstIP, SrcPort: f.SrcPort,
		DstPort: f.DstPort, Proto: f.Proto, VLAN: f.VLAN, TTL: f.TTL, Payload: f.Payload, Signature: f.Signature, Rate: f.Rate, Burst: f.Burst,
	})
}
