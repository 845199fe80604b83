package stream

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// The page for users lists every header with its length and every field with its default.
func TestPageListsEveryField(t *testing.T) {
	data, err := os.ReadFile("../docs/streams.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, k := range packet.Kinds() {
		_, section, found := strings.Cut(page, "### "+heading(k)+"\n")
		if !found {
			t.Errorf("docs/streams.md has no heading %s", heading(k))
		}
		section, _, _ = strings.Cut(section, "\n### ")
		for i := range k.Fields {
			f := &k.Fields[i]
			text := packet.FormatNum(f, f.Default)
			switch {
			case f.Auto:
				text = "computed"
			case k.Name == "eth":
				text = "the "
			case k.Name == "tcp" && f.Name == "flags":
				text = "ack"
			}
			if !strings.Contains(section, fmt.Sprintf("| `%s` | %s", f.Name, text)) {
				t.Errorf("docs/streams.md does not list %s.%s with default %s", k.Name, f.Name, text)
			}
		}
		if k.Data != nil && !strings.Contains(section, fmt.Sprintf("| `%s` | none |", k.Data.Name)) {
			t.Errorf("docs/streams.md does not list %s.%s", k.Name, k.Data.Name)
		}
	}
	for _, form := range modifierForms[Inc:] {
		if !strings.Contains(page, "`"+form+"`") {
			t.Errorf("docs/streams.md does not explain %s", form)
		}
	}
}

// heading is a kind's name and its length where nothing optional is given.
func heading(k *packet.Kind) string {
	l, err := NewLayer(k, nil, nil)
	if err != nil {
		return fmt.Sprintf("`%s`", k.Name) // raw has no length of its own
	}
	return fmt.Sprintf("`%s` (%d bytes)", k.Name, l.Kind.Len)
}
