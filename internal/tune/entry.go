package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Group binds entries together: the namespaces of one lab.
type Group struct {
	Kind string `json:"kind"` // "pair", "demo"
	Name string `json:"name"`
	// Lasting: meant to outlive its process, so Restore leaves it alone.
	Lasting bool `json:"lasting"`
}

// An Entry is a change in the journal.
type Entry struct {
	ID    string // its file's name; ascending in time
	Owner Owner
	Group *Group // nil: none
	What  string // Change's description
	change
}

// onDisk is the form of an entry, version 1.
type onDisk struct {
	Version int             `json:"version"`
	Owner   Owner           `json:"owner"`
	Group   *Group          `json:"group,omitempty"`
	What    string          `json:"what"`
	Kind    string          `json:"kind"`
	Change  json.RawMessage `json:"change"`
}

const entryVersion = 1

// kinds makes the change that a kind's name stands for.
var kinds = map[string]func(raw []byte) (change, error){
	GRO{}.kind():       decode[GRO],
	MTU{}.kind():       decode[MTU],
	LinkUp{}.kind():    decode[LinkUp],
	Netns{}.kind():     decode[Netns],
	XDPAttach{}.kind(): decode[XDPAttach],
	Private{}.kind():   decode[Private],
}

func decode[T change](raw []byte) (change, error) {
	var c T
	err := strictJSON(raw, &c)
	return c, err
}

func strictJSON(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more behind the end")
	}
	return nil
}

func (e *Entry) encode() ([]byte, error) {
	raw, err := json.Marshal(e.change)
	if err != nil {
		return nil, fmt.Errorf("journal entry: %w", err)
	}
	return json.MarshalIndent(onDisk{Version: entryVersion, Owner: e.Owner, Group: e.Group, What: e.What, Kind: e.change.kind(), Change: raw}, "", "\t")
}

// decodeEntry refuses what it does not know whole: undoing half of a change is worse than saying so.
func decodeEntry(id string, b []byte) (*Entry, error) {
	var d onDisk
	if err := strictJSON(b, &d); err != nil {
		return nil, fmt.Errorf("journal entry %s cannot be read: %w", id, err)
	}
	if d.Version != entryVersion {
		return nil, fmt.Errorf("journal entry %s has version %d, this wirespeed knows %d", id, d.Version, entryVersion)
	}
	read, ok := kinds[d.Kind]
	if !ok {
		return nil, fmt.Errorf("journal entry %s is of a kind this wirespeed does not know: %q", id, d.Kind)
	}
	c, err := read(d.Change)
	if err != nil {
		return nil, fmt.Errorf("journal entry %s cannot be read: %w", id, err)
	}
	return &Entry{ID: id, Owner: d.Owner, Group: d.Group, What: d.What, change: c}, nil
}
