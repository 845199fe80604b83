package packet

import "fmt"

// shapedByData gives a kind the shape that its Data alone decides: the fields stay where they are, the bytes, padded by
// pad, come behind them. pad may be called without any bytes and must not change what it is given.
func shapedByData(k *Kind, pad func(data []byte) []byte) *Kind {
	k.Shape = func(_ func(string) bool, data []byte) (*Kind, error) { return k.withData(data, pad) }
	return k
}

// withData is a shaped copy of the kind with the bytes behind its fields.
func (k *Kind) withData(data []byte, pad func([]byte) []byte) (*Kind, error) {
	if len(data) > k.Data.Max {
		return nil, fmt.Errorf("%s.%s has %d bytes: give at most %d", k.Name, k.Data.Name, len(data), k.Data.Max)
	}
	s, d := *k, *k.Data
	s.Shape, s.Data = nil, &d
	d.Bytes = pad(data)
	s.Len += len(d.Bytes)
	return &s, nil
}

// asGiven pads nothing.
func asGiven(data []byte) []byte { return append([]byte(nil), data...) }

// zerosTo pads with zeros to a multiple of unit bytes.
func zerosTo(unit int) func([]byte) []byte {
	return func(data []byte) []byte {
		return append(asGiven(data), make([]byte, (unit-len(data)%unit)%unit)...)
	}
}
