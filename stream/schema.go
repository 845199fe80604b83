package stream

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// JSONSchema is the JSON Schema (draft 2020-12) of a stream definition, made from the table of headers, for editors that
// complete and check YAML. It is looser than Parse: it knows names, forms and ranges, not how the parts go together.
func JSONSchema() []byte {
	root := object("Streams of frames for wirespeed, by weight under one rate.",
		prop{"rate", describe(textOrNumber(), "Common rate: max, 1.2Mpps, 500Mbps@L1, 500Mbps@L2, 87.5% or gap=10us. Default max.")},
		prop{"streams", &jsonschema.Schema{Type: "array", MinItems: ref(1), Items: streamSchema()}},
		prop{"replay", replaySchema()},
	)
	root.Version = jsonschema.Version
	root.Title = "wirespeed stream definition"
	root.OneOf = []*jsonschema.Schema{{Required: []string{"streams"}}, {Required: []string{"replay"}}}
	root.Definitions = jsonschema.Definitions{}
	for _, k := range packet.Kinds() {
		root.Definitions[k.Name] = kindSchema(k)
	}
	out, _ := json.MarshalIndent(root, "", "  ") // a schema of our own values: nothing in it can fail
	return append(out, '\n')
}

func streamSchema() *jsonschema.Schema {
	names := kindNames()
	one := object("One header with its fields.")
	one.MinProperties, one.MaxProperties = ref(1), ref(1)
	for _, k := range packet.Kinds() {
		forms := []*jsonschema.Schema{{Ref: "#/$defs/" + k.Name}, {Type: "null"}}
		if k.Data != nil && len(k.Fields) == 0 {
			forms = append(forms, dataSchema(k.Data)) // - raw: hex:DEADBEEF
		}
		one.Properties.Set(k.Name, &jsonschema.Schema{AnyOf: forms})
	}
	s := object("A sequence of frames with the same headers.",
		prop{"name", describe(&jsonschema.Schema{Type: "string"}, "Name in reports, different for every stream. Default stream1, stream2, ...")},
		prop{"weight", describe(between(1, maxWeight), "Frames of this stream in one round of the set. Default 1.")},
		prop{"size", describe(textOrNumber(), "Bytes with FCS: 64, 64,128,1518, 64-1518, 64-1518/64, rand(64,1518,seed), imix or imix:64:7,570:4,1518:1. Default: the smallest that holds headers and signature.")},
		prop{"layers", describe(&jsonschema.Schema{Type: "array", MinItems: ref(1), Items: &jsonschema.Schema{
			AnyOf: []*jsonschema.Schema{{Type: "string", Enum: anys(names)}, one},
		}}, "Headers, the outermost first.")},
		prop{"payload", object("What follows the last header: signature, then fill, some of it varied.",
			prop{"fill", describe(textOrNumber(), "Known fills: "+fillForms+". Default 0x00.")},
			prop{"modify", describe(&jsonschema.Schema{Type: "array", MaxItems: ref(maxModify), Items: modifySchema()}, "Bits of the payload with a value of their own.")})},
		prop{"signature", describe(&jsonschema.Schema{Type: "string", Enum: []any{"auto", "full", "short", "none"}}, "Form of the test signature. Default auto: the largest that fits the smallest frame.")},
		prop{"rate", describe(textOrNumber(), "A rate of this stream's own, instead of a weight.")},
		prop{"start_after", describe(&jsonschema.Schema{Type: "string"}, "Time from the start of the run to this stream's first frame: 10ms.")},
		prop{"burst", describe(&jsonschema.Schema{Type: "string", Pattern: "^[^/]+/[^/]+$"}, "Frames back to back, and the time from burst to burst: 32/1ms.")},
	)
	s.Required = []string{"layers"}
	return s
}

func modifySchema() *jsonschema.Schema {
	s := object("Bits of the payload.",
		prop{"offset", describe(between(0, maxData), "Bytes from the end of the last header. The signature is there, if there is one.")},
		prop{"bit", describe(between(0, 7), "Bits from the left of that byte. Default 0.")},
		prop{"bits", describe(between(1, 128), "Width.")},
		prop{"value", describe(fieldSchema(&packet.Field{Bits: 128}), "A number or a modifier.")})
	s.Required = []string{"offset", "bits", "value"}
	return s
}

// dataSchema takes one value, or a list of them one behind the other.
func dataSchema(d *packet.Data) *jsonschema.Schema {
	return describe(&jsonschema.Schema{AnyOf: []*jsonschema.Schema{textOrNumber(), {Type: "array", Items: textOrNumber()}}},
		strings.ToUpper(d.Doc[:1])+d.Doc[1:]+". Write "+dataForms(d)+".")
}

func kindSchema(k *packet.Kind) *jsonschema.Schema {
	s := object("Header " + k.Name + ".")
	for i := range k.Fields {
		f := &k.Fields[i]
		v := fieldSchema(f)
		doc := f.Doc + "."
		if f.Auto {
			doc += " Computed unless given."
		} else {
			doc += " Default " + packet.FormatNum(f, f.Default) + "."
		}
		v.Description = strings.ToUpper(doc[:1]) + doc[1:]
		s.Properties.Set(f.Name, v)
	}
	if k.Data != nil {
		s.Properties.Set(k.Data.Name, dataSchema(k.Data))
	}
	// The full display filter name is as good as the short one.
	s.PatternProperties = map[string]*jsonschema.Schema{"^" + regexp.QuoteMeta(wiresharkPrefix(k)) + `\.`: textOrNumber()}
	return s
}

func wiresharkPrefix(k *packet.Kind) string {
	if k.Prefix != "" {
		return k.Prefix
	}
	return k.Name
}

// fieldSchema takes what a field may be: numbers in its range, names, addresses, modifiers.
func fieldSchema(f *packet.Field) *jsonschema.Schema {
	modifier := &jsonschema.Schema{Type: "string", Pattern: `^\s*(inc|dec|rand|list)\s*\(.*\)\s*$`}
	var forms []*jsonschema.Schema
	switch f.Type {
	case packet.MAC:
		forms = append(forms, &jsonschema.Schema{Type: "string", Pattern: "^[0-9A-Fa-f]{1,2}([:-][0-9A-Fa-f]{1,2}){5}$"})
	case packet.IPv4:
		forms = append(forms, &jsonschema.Schema{Type: "string", Pattern: `^[0-9]{1,3}(\.[0-9]{1,3}){3}$`})
	case packet.IPv6:
		forms = append(forms, &jsonschema.Schema{Type: "string", Pattern: "^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$"})
	default:
		number := &jsonschema.Schema{Type: "integer", Minimum: "0"}
		if f.Bits <= 64 {
			number.Maximum = json.Number(packet.FormatNum(f, f.Max()))
		}
		forms = append(forms, number, &jsonschema.Schema{Type: "string", Pattern: "^(0[xX][0-9A-Fa-f]+|[0-9]+)$"})
		if names := slices.Sorted(maps.Keys(f.Values)); len(names) > 0 {
			word := "(" + strings.Join(names, "|") + ")"
			forms = append(forms, &jsonschema.Schema{Type: "string", Enum: anys(names)}, &jsonschema.Schema{Type: "string", Pattern: `^` + word + `(\|` + word + `)+$`})
		}
	}
	return &jsonschema.Schema{AnyOf: append(forms, modifier)}
}

type prop struct {
	name   string
	schema *jsonschema.Schema
}

func object(doc string, props ...prop) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Description: doc, Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	for _, p := range props {
		s.Properties.Set(p.name, p.schema)
	}
	return s
}

func describe(s *jsonschema.Schema, doc string) *jsonschema.Schema {
	s.Description = doc
	return s
}

// textOrNumber takes what is written as text or as a bare number.
func textOrNumber() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}}}
}

func between(low, high int) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: json.Number(fmt.Sprint(low)), Maximum: json.Number(fmt.Sprint(high))}
}

func ref(n uint64) *uint64 { return &n }

func anys(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}
