package packet

// LLC's service access point of SNAP, and its control field of unnumbered information.
const (
	sapSNAP       = 0xaa
	llcUnnumbered = 0x03
)

// llc is IEEE 802.2 LLC with a control field of one byte, as unnumbered frames have it. The header below says how many
// bytes follow instead of an EtherType.
func llc() *Kind {
	sap := map[string]uint64{"snap": sapSNAP, "stp": 0x42, "ipx": 0xe0, "netbios": 0xf0, "isis": 0xfe}
	return &Kind{
		Name: "llc", Header: HeaderLLC, Len: 3,
		Follows: []string{"eth", "vlan"},
		Fields: []Field{
			{Name: "dsap", Bit: 0, Bits: 8, Auto: true, Values: sap, Doc: "destination service access point: 0xaa where snap follows, else 0"},
			{Name: "ssap", Bit: 8, Bits: 8, Auto: true, Values: sap, Doc: "source service access point: 0xaa where snap follows, else 0"},
			{Name: "control", Bit: 16, Bits: 8, Default: Num{Lo: llcUnnumbered}, Doc: "control: 3 is unnumbered information"},
		},
		Finish: func(h []byte, next *Kind, _ int) {
			h[0], h[1] = 0, 0
			if next != nil && next.Header == HeaderSNAP {
				h[0], h[1] = sapSNAP, sapSNAP
			}
		},
	}
}
