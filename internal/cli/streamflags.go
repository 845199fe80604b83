package cli

import (
	"errors"
	"strconv"

	"github.com/wirespeed/wirespeed/internal/trial"
	"github.com/wirespeed/wirespeed/stream"
)

// text is the value of a flag. An empty one is refused: it comes from an unset shell variable, and is not "not given".
type text string

// UnmarshalText is called only for flags that were given.
func (t *text) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New("the value is empty: give one, or leave the flag out")
	}
	*t = text(b)
	return nil
}

// StreamFlags describe what is sent. Every field takes a value or inc(start,step,count), dec(start,step,count),
// rand(min,max,seed), list(a,b,...).
type StreamFlags struct {
	File      text `short:"f" help:"Stream definition in YAML or JSON; of the stream flags only --rate goes with it." placeholder:"FILE" group:"Stream:"`
	Size      text `help:"Bytes with FCS: 64, 64,128,1518, 64-1518, 64-1518/64, rand(64,1518,seed), imix or imix:64:7,570:4,1518:1. Default: the smallest that holds headers and signature." placeholder:"SIZE" group:"Stream:"`
	SrcMAC    text `name:"src-mac" help:"Source MAC address. Default: the port's own." placeholder:"MAC" group:"Stream:"`
	DstMAC    text `name:"dst-mac" help:"Destination MAC address. Default: the --rx port's, else a veth's peer's." placeholder:"MAC" group:"Stream:"`
	SrcIP     text `name:"src-ip" help:"Source address, IPv4 or IPv6. Default 198.18.0.1 or 2001:2::1." placeholder:"IP" group:"Stream:"`
	DstIP     text `name:"dst-ip" help:"Destination address, IPv4 or IPv6. Default 198.19.0.1 or 2001:2:0:1::1." placeholder:"IP" group:"Stream:"`
	SrcPort   text `name:"src-port" help:"Source port. Default 9." placeholder:"PORT" group:"Stream:"`
	DstPort   text `name:"dst-port" help:"Destination port. Default 9 (discard)." placeholder:"PORT" group:"Stream:"`
	Proto     text `help:"udp or tcp. Default udp." placeholder:"PROTO" group:"Stream:"`
	VLAN      text `name:"vlan" help:"VLAN tags, outermost first: 100, 100,200 or 0x88a8:100,200." placeholder:"TAGS" group:"Stream:"`
	TTL       text `name:"ttl" help:"Time to live or hop limit. Default 1, or 64 with a gateway." placeholder:"TTL" group:"Stream:"`
	Payload   text `help:"What fills the frame behind the signature: 0x00 (any byte), inc, random(seed), hex:DEADBEEF or text:hello. Default 0x00." placeholder:"FILL" group:"Stream:"`
	Signature text `help:"auto (the largest that fits), full, short or none. Default auto; of a replay none, and no auto." placeholder:"FORM" group:"Stream:"`
	Rate      text `help:"max, 1.2Mpps, 500Mbps@L1, 500Mbps@L2, 87.5% or gap=10us. Default max; of a replay the recorded gaps." placeholder:"RATE" group:"Stream:"`
	Burst     text `help:"Frames back to back, and the time from burst to burst: 32/1ms. Shown and checked; no engine sends it yet." placeholder:"N/GAP" group:"Stream:"`

	ReplayFlags
}

// ReplayFlags say what is sent of a capture. The flags of header fields change its frames.
type ReplayFlags struct {
	PCAP      text     `name:"pcap" help:"Send this capture (pcap, pcapng, .gz; - is standard input). --src-mac, --dst-mac, --src-ip, --dst-ip, --src-port, --dst-port, --vlan (none takes all tags away) and --ttl change its frames; --rate replaces the recorded gaps." placeholder:"FILE" group:"Replay:"`
	Speed     text     `help:"Divide the recorded gaps: 2 is twice as fast. Default 1." placeholder:"X" group:"Replay:"`
	Loop      text     `help:"Send the capture N times; 0: again and again. Default 1." placeholder:"N" group:"Replay:"`
	Limit     text     `help:"Send only the first N packets of the capture." placeholder:"N" group:"Replay:"`
	MaxGap    text     `help:"Shorten longer gaps to this." placeholder:"D" group:"Replay:"`
	Preload   *bool    `negatable:"" help:"Make the whole sequence ready before the first frame. Default: where it fits in 128 MiB and is no pipe. --no-preload reads it while it is sent." group:"Replay:"`
	Pad       text     `help:"Fill frames up that the capture cut, or that are below 64 bytes: zero or random." placeholder:"HOW" group:"Replay:"`
	AllowSkip bool     `help:"Leave out the frames that cannot be sent, and send the rest." group:"Replay:"`
	L2        text     `name:"l2" help:"Make packets without an Ethernet header (SLL, SLL2, RAW, NULL, LOOP) Ethernet with these addresses." placeholder:"DST,SRC" group:"Replay:"`
	MapIP     []string `name:"map-ip" sep:"none" help:"Put addresses of one prefix into another of equal length, ARP's too; can be repeated: 10.0.0.0/8=198.18.0.0/8." placeholder:"FROM=TO" group:"Replay:"`
}

func (f *ReplayFlags) flags() stream.ReplayFlags {
	r := stream.ReplayFlags{
		PCAP: string(f.PCAP), Speed: string(f.Speed), Loop: string(f.Loop), Limit: string(f.Limit), MaxGap: string(f.MaxGap),
		Pad: string(f.Pad), L2: string(f.L2), AllowSkip: f.AllowSkip, MapIP: f.MapIP,
	}
	if f.Preload != nil {
		r.Preload = strconv.FormatBool(*f.Preload)
	}
	return r
}

// set makes the definition. Its error is a Refusal that names every mistake.
func (f *StreamFlags) set() (*stream.Set, error) {
	set, err := stream.FromReplayFlags(stream.Flags{
		File: string(f.File), Size: string(f.Size), Rate: string(f.Rate), Burst: string(f.Burst),
		SrcMAC: string(f.SrcMAC), DstMAC: string(f.DstMAC), SrcIP: string(f.SrcIP), DstIP: string(f.DstIP),
		SrcPort: string(f.SrcPort), DstPort: string(f.DstPort), Proto: string(f.Proto), VLAN: string(f.VLAN),
		TTL: string(f.TTL), Payload: string(f.Payload), Signature: string(f.Signature),
	}, f.flags())
	bad, ok := errors.AsType[stream.Errors](err)
	switch {
	case !ok:
		return set, err
	case len(bad) > 1:
		return nil, trial.Usage("correct them all: nothing was sent", "%d mistakes\n%s", len(bad), bad)
	}
	mend := bad[0].Mend
	bad[0].Mend = ""
	return nil, trial.Usage(mend, "%s", bad)
}
