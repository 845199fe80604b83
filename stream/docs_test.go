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
		_, section, found := strings.Cut(page, fmt.Sprintf("### `%s` (%d bytes)\n", k.Name, k.Len))
		if !found {
			t.Errorf("docs/streams.md has no heading for %s with %d bytes", k.Name, k.Len)
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
	}
	for _, form := range modifierForms[Inc:] {
		if !strings.Contains(page, "`"+form+"`") {
			t.Errorf("docs/streams.md does not explain %s", form)
		}
	}
}
