package stream

import (
	"path/filepath"

	"github.com/invopop/jsonschema"
)

// replay reads the key replay of a definition into the set; rated says whether the set has a rate of its own. Paths of
// captures are relative to the definition's file.
func (d *decoder) replay(v *node, at located) *replaySource {
	src := &replaySource{at: map[string]located{}, given: map[string]bool{}, replay: newReplay("")}
	r := src.replay
	place := func(key string, at located) { src.at[key], src.given[key] = at, true }
	src.at[""] = at
	fields := []field{
		{"pcap", func(v *node, at located) {
			place("pcap", at)
			d.scalar(v, at, func(t string) *fault {
				r.File = t
				if t == "" {
					return &fault{"the path is empty", "give the path of a capture"}
				}
				if t != "-" && !filepath.IsAbs(t) {
					r.File = filepath.Join(filepath.Dir(d.file), t)
				}
				return nil
			})
		}},
		{"map_ip", func(v *node, at located) {
			list := v.list
			if v.kind == scalar {
				list = []*node{v}
			} else if !d.is(v, sequence, at, "needs a list", "write each as FROM=TO behind a dash") {
				return
			}
			for _, e := range list {
				d.scalar(e, located{e.pos, at.path}, func(t string) *fault { return readMap(r, t) })
			}
		}},
	}
	for _, k := range replayKeys() {
		fields = append(fields, field{k.name, func(v *node, at located) {
			place(k.name, at)
			d.scalar(v, at, func(t string) *fault { return k.read(r, t) })
		}})
	}
	d.mapping(v, at, "a replay", fields)
	if !src.given["pcap"] && v.kind == mapping {
		d.at(at, "no capture", "give `pcap:` with the path of a capture")
	}
	return src
}

// replaySource is a replay and where its parts stood.
type replaySource struct {
	replay *Replay
	at     map[string]located
	given  map[string]bool
}

// check finds what does not go together.
func (s *replaySource) check(n *notes, rated bool) {
	at := func(key string) located {
		if p, ok := s.at[key]; ok {
			return p
		}
		return s.at[""]
	}
	checkReplay(s.replay, n, at, s.given, rated)
}

func replaySchema() *jsonschema.Schema {
	maps := &jsonschema.Schema{Type: "string", Pattern: "^[^=]+=[^=]+$"}
	s := object("A capture that is sent, instead of streams.",
		prop{"pcap", describe(&jsonschema.Schema{Type: "string"}, "Path of the capture, relative to this file; - is standard input.")},
		prop{"map_ip", describe(&jsonschema.Schema{AnyOf: []*jsonschema.Schema{maps, {Type: "array", Items: maps}}},
			"FROM=TO, prefixes of equal length: IP addresses, ARP's too, of the one are put into the other.")},
	)
	for _, k := range replayKeys() {
		s.Properties.Set(k.name, describe(&jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}, k.doc))
	}
	s.Required = []string{"pcap"}
	return s
}
