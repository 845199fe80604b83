package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("run.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("run.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// A document in which all is unknown, and one in which all is known, follow the schema.
func TestSchemaTakesDocuments(t *testing.T) {
	s := compiled(t)
	n, f := uint64(7), 0.5
	loss := int64(-1)
	unknown := Run{
		Schema: SchemaRun, Command: []string{}, Notes: []string{}, Reasons: map[string]string{},
		Ports:   []Port{{WhyNot: []string{}, Tx: &Tx{Queues: []TxQueue{{}}}, Rx: &Rx{}}},
		Streams: []Stream{{Tx: &StreamTx{}, Rx: &StreamRx{}}},
		Verdict: Verdict{Reasons: []string{}},
	}
	known := unknown
	known.Ports = []Port{{WhyNot: []string{"x"}, LinkBps: &n, Tx: &Tx{Intended: &n, LineShare: &f, Queues: []TxQueue{}}}}
	known.Streams = []Stream{{Rx: &StreamRx{Lost: &loss, LatencyNs: &Latency{P50: &n}, GapNs: &Gap{Within5Pct: &f}}}}
	known.Error = &Error{Code: 3, Message: "m", Mend: "n"}
	for _, r := range []Run{unknown, known} {
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, string(data)); err != nil {
			t.Errorf("%s\n%v", data, err)
		}
	}
	if err := validate(t, s, `{"error":{"code":1,"message":"m","mend":""}}`); err != nil {
		t.Error(err)
	}
}

func TestSchemaRefuses(t *testing.T) {
	s := compiled(t)
	data, err := json.Marshal(Run{
		Schema: SchemaRun, Command: []string{}, Notes: []string{}, Reasons: map[string]string{}, Ports: []Port{}, Streams: []Stream{}, Verdict: Verdict{Reasons: []string{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	if err := validate(t, s, good); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		strings.Replace(good, SchemaRun, "wirespeed.run/v2", 1),
		strings.Replace(good, `"ports":[]`, `"ports":null`, 1),
		strings.Replace(good, `"run_id":0`, `"run_id":"0"`, 1),
		strings.Replace(good, `"streams":[],`, ``, 1),
		`{}`, `{"error":{"code":"1"}}`,
	} {
		if validate(t, s, bad) == nil {
			t.Errorf("accepted %s", bad)
		}
	}
}
