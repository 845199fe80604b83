package stream

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("stream.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("stream.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate reads YAML as an editor does, with an ordinary decoder, and holds it against the schema.
func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestSchemaTakesWhatParseTakes(t *testing.T) {
	s := compiledSchema(t)
	if err := validate(t, s, []byte(good)); err != nil {
		t.Error(err)
	}
	files, err := filepath.Glob("../examples/*.yaml")
	replays, err2 := filepath.Glob("../examples/replay/*.yaml")
	if err != nil || err2 != nil || len(files) == 0 || len(replays) == 0 {
		t.Fatalf("%d examples, %d of replays, %v, %v", len(files), len(replays), err, err2)
	}
	files = append(files, replays...)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, data); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	s := compiledSchema(t)
	for _, bad := range []string{
		"rate: max\n", "streams: []\n", "streems: []\n", "streams:\n- name: a\n",
		one("  wieght: 1\n", udp4), one("  weight: 0\n", udp4), one("  signature: fulll\n", udp4), one("  payload: {fil: 0}\n", udp4),
		one("", "  - ipv7"), one("", "  - eth: {}\n    ip: {}"), one("", "  - eth: {dest: 02:00:00:00:00:01}"),
		one("", "  - vlan: {id: 5000}"), one("", "  - eth: {dst: 00:ab:cd:ef:00}"), one("", "  - ipv6: {dst: 198.18.0.1}"),
		one("", "  - udp: {dstport: 65536}"), one("", "  - tcp: {flags: sin}"), one("", "  - ip: {ttl: \"icn(1,1,1)\"}"),
		one("", "  - raw: {dat: 00}"), one("", "  - ip: {options: {}}"), one("", "  - eth: {data: 00}"),
		one("  payload: {modify: [{offset: 1, bits: 8}]}\n", udp4), one("  payload: {modify: [{offset: 1, bits: 129, value: 1}]}\n", udp4),
		one("  payload: {modify: [{offset: 1, bits: 8, value: 1, byte: 2}]}\n", udp4),
	} {
		if validate(t, s, []byte(bad)) == nil {
			t.Errorf("accepted\n%s", bad)
		}
	}
}
