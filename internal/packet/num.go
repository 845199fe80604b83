package packet

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// MaxNum is the largest number of n bits, 1 to 128.
func MaxNum(n int) Num {
	switch {
	case n >= 128:
		return Num{^uint64(0), ^uint64(0)}
	case n > 64:
		return Num{1<<(n-64) - 1, ^uint64(0)}
	case n == 64:
		return Num{Lo: ^uint64(0)}
	default:
		return Num{Lo: 1<<n - 1}
	}
}

// Less reports whether n < o.
func (n Num) Less(o Num) bool { return n.Hi < o.Hi || n.Hi == o.Hi && n.Lo < o.Lo }

// unit is the factor between what is written and what is kept.
func (t Type) unit() uint64 {
	if t == Words {
		return 4
	}
	return 1
}

// ParseNum reads a value of the field: of its type, its names (also several joined by "|"), within its bits. The error is
// one sentence that names what was written and what is right.
func ParseNum(f *Field, s string) (Num, error) {
	s = strings.TrimSpace(s)
	switch f.Type {
	case MAC:
		return parseMAC(s)
	case IPv4, IPv6:
		return parseAddr(f.Type, s)
	}
	n, err := parseUint(s, f.Values)
	if err != nil {
		return Num{}, err
	}
	limit, unit := f.Max(), f.Type.unit()
	if unit > 1 {
		if n.Hi != 0 || n.Lo%unit != 0 {
			return Num{}, fmt.Errorf("%s is not a multiple of %d: the field counts bytes in units of %d", s, unit, unit)
		}
		n.Lo /= unit
	}
	if limit.Less(n) {
		return Num{}, fmt.Errorf("%s does not fit: the field has %d bits, 0 to %s", s, f.Bits, FormatNum(f, limit))
	}
	return n, nil
}

func parseMAC(s string) (Num, error) {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == ':' || r == '-' })
	bad := fmt.Errorf("%q is not a MAC address: write six bytes in hexadecimal, as in 02:00:00:00:00:01", s)
	if len(parts) != 6 || strings.Count(s, ":")+strings.Count(s, "-") != 5 {
		return Num{}, bad
	}
	var n Num
	for _, p := range parts {
		b, err := strconv.ParseUint(p, 16, 8)
		if err != nil || len(p) > 2 {
			return Num{}, bad
		}
		n.Lo = n.Lo<<8 | b
	}
	return n, nil
}

func parseAddr(t Type, s string) (Num, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case err == nil && a.Zone() != "":
		return Num{}, fmt.Errorf("%q has a zone, which no packet carries: leave out %%%s", s, a.Zone())
	case t == IPv4 && err == nil && a.Is6():
		return Num{}, fmt.Errorf("%q is an IPv6 address; this field takes IPv4, as in 198.18.0.1 (layer ipv6 has addresses like that)", s)
	case t == IPv6 && err == nil && a.Is4():
		return Num{}, fmt.Errorf("%q is an IPv4 address; this field takes IPv6, as in 2001:2::1 (layer ip has addresses like that)", s)
	case t == IPv4 && err != nil:
		return Num{}, fmt.Errorf("%q is not an IPv4 address: write four numbers from 0 to 255, as in 198.18.0.1", s)
	case err != nil:
		return Num{}, fmt.Errorf("%q is not an IPv6 address: write it as in 2001:2::1", s)
	}
	if t == IPv4 {
		b := a.As4()
		return Num{Lo: uint64(binary.BigEndian.Uint32(b[:]))}, nil
	}
	b := a.As16()
	return Num{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}, nil
}

func parseUint(s string, values map[string]uint64) (Num, error) {
	if v, ok := values[s]; ok {
		return Num{Lo: v}, nil
	}
	if len(values) > 0 && strings.Contains(s, "|") {
		var n Num
		for p := range strings.SplitSeq(s, "|") {
			v, err := parseUint(strings.TrimSpace(p), values)
			if err != nil {
				return Num{}, err
			}
			n.Hi, n.Lo = n.Hi|v.Hi, n.Lo|v.Lo
		}
		return n, nil
	}
	digits, base := s, 10
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		digits, base = s[2:], 16
	}
	b, ok := new(big.Int).SetString(digits, base)
	if !ok || strings.ContainsAny(digits, "+-_") {
		if strings.HasPrefix(s, "-") && ok {
			return Num{}, fmt.Errorf("%s is below 0: write 0 or more", s)
		}
		if len(values) > 0 {
			return Num{}, fmt.Errorf("%q is neither a number nor one of %s", s, strings.Join(slices.Sorted(maps.Keys(values)), ", "))
		}
		return Num{}, fmt.Errorf("%q is not a number: write decimal digits, or hexadecimal ones behind 0x", s)
	}
	if b.BitLen() > 128 {
		return Num{}, fmt.Errorf("%s does not fit in 128 bits", s)
	}
	lo := new(big.Int).And(b, new(big.Int).SetUint64(^uint64(0))).Uint64()
	return Num{new(big.Int).Rsh(b, 64).Uint64(), lo}, nil
}

// FormatNum writes a number of the field so that ParseNum reads it back.
func FormatNum(f *Field, n Num) string {
	switch f.Type {
	case MAC:
		v := n.Lo
		return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", byte(v>>40), byte(v>>32), byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	case IPv4:
		return netip.AddrFrom4([4]byte{byte(n.Lo >> 24), byte(n.Lo >> 16), byte(n.Lo >> 8), byte(n.Lo)}).String()
	case IPv6:
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], n.Hi)
		binary.BigEndian.PutUint64(b[8:], n.Lo)
		return netip.AddrFrom16(b).String()
	}
	if n.Hi != 0 {
		v := new(big.Int).Lsh(new(big.Int).SetUint64(n.Hi), 64)
		return v.Or(v, new(big.Int).SetUint64(n.Lo)).String()
	}
	return strconv.FormatUint(n.Lo*f.Type.unit(), 10)
}
