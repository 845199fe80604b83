package packet

import "errors"

// raw is any bytes at any place, for headers that are not known here. What stands below announces it as it does the
// payload, unless its field is given.
func raw() *Kind {
	k := &Kind{
		Name: "raw", Outermost: true,
		Data: &Data{Name: "data", Max: 9216, Doc: "the bytes, as they are"},
	}
	k.Shape = func(_ func(string) bool, data []byte) (*Kind, error) {
		if len(data) == 0 {
			return nil, errors.New("raw has no bytes: give them as data")
		}
		return k.withData(data, asGiven)
	}
	return k
}
