package stream

import "slices"

// Clone copies the set, so that what is filled into the copy (SetMACs, SetTTL) does not change the original. Values are
// shared: they are never changed in place.
func (s *Set) Clone() *Set {
	c := *s
	c.Streams = slices.Clone(s.Streams)
	if s.Replay != nil {
		r := *s.Replay
		c.Replay = &r
	}
	for i := range c.Streams {
		layers := slices.Clone(c.Streams[i].Layers)
		for j := range layers {
			layers[j].Fields = slices.Clone(layers[j].Fields)
		}
		c.Streams[i].Layers = layers
	}
	return &c
}
