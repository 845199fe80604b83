package report

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
)

// JSONSchema is the JSON Schema (draft 2020-12) of a wirespeed.run/v1 document, and of the document that a command prints
// instead when it ends before it ran: the error alone. More fields may be there than it names: v1 only grows.
func JSONSchema() []byte {
	r := &jsonschema.Reflector{Anonymous: true, AllowAdditionalProperties: true}
	s := r.Reflect(&Run{})
	allowNull(s.Definitions, reflect.TypeFor[Run](), map[reflect.Type]bool{})
	if p, ok := s.Definitions["Run"].Properties.Get("schema"); ok {
		p.Const = SchemaRun
	}
	s.Title = "Result of a run of wirespeed"
	// Where nothing ran there is the error alone.
	early := &jsonschema.Schema{
		Type: "object", Properties: jsonschema.NewProperties(), Required: []string{"error"},
		Not: &jsonschema.Schema{Required: []string{"schema"}},
	}
	early.Properties.Set("error", &jsonschema.Schema{Ref: "#/$defs/Error"})
	s.AnyOf, s.Ref = []*jsonschema.Schema{{Ref: s.Ref}, early}, ""
	out, _ := json.MarshalIndent(s, "", "  ") // a schema of our own types: nothing in it can fail
	return append(out, '\n')
}

// allowNull lets every pointer that is always printed be null: what is unknown is null.
func allowNull(defs jsonschema.Definitions, t reflect.Type, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if d, ok := defs[t.Name()]; ok && f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omitempty") {
			if p, ok := d.Properties.Get(name); ok {
				d.Properties.Set(name, &jsonschema.Schema{AnyOf: []*jsonschema.Schema{p, {Type: "null"}}})
			}
		}
		allowNull(defs, f.Type, seen)
	}
}
