package show

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/stream"
)

// Every example parses, compiles, is explained at its head, and the decoder finds all its frames right.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if head, command, _ := strings.Cut(string(data), "wirespeed show -f examples/"+filepath.Base(file)); !strings.HasPrefix(head, "# ") || command == "" {
				t.Error("the head does not say what it is and how to show it")
			}
			set, err := stream.Parse(file, data)
			if err != nil {
				t.Fatal(err)
			}
			d, err := Make(set, 100, false)
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Unsupported) > 0 {
				t.Errorf("examples can be sent, this cannot: %v", d.Unsupported)
			}
			byName := map[string]*stream.Stream{}
			for i := range set.Streams {
				byName[set.Streams[i].Name] = &set.Streams[i]
			}
			for _, f := range d.Frames {
				st := byName[f.Stream]
				if f.Size < st.Size.Min || f.Size > st.Size.Max || (f.Signature == nil) != (st.Signature == "none") {
					t.Errorf("frame %d: size %d, signature %v", f.Index, f.Size, f.Signature)
				}
				if filepath.Base(file) == "wrong-on-purpose.yaml" {
					continue // TestWrongOnPurpose
				}
				if len(f.Layers) != len(st.Layers) {
					t.Fatalf("frame %d: the decoder sees %v", f.Index, f.Layers)
				}
				for i, l := range f.Layers {
					if kind := st.Layers[i].Kind.Name; l.Name != kind && kind != "raw" || l.Problem != "" || l.ChecksumOK != nil && !*l.ChecksumOK {
						t.Errorf("frame %d: the decoder sees %+v where %s should be", f.Index, l, st.Layers[i].Kind.Name)
					}
				}
			}
		})
	}
}

// The decoder sees what is wrong in each frame of the example, and nothing else.
func TestWrongOnPurpose(t *testing.T) {
	const file = "../../examples/wrong-on-purpose.yaml"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set, err := stream.Parse(file, data)
	if err != nil {
		t.Fatal(err)
	}
	frames := strings.Split(text(t, set, len(set.Streams), false), "\nframe ")[1:]
	for i, want := range []string{"checksum 0xbad1 (wrong)", "checksum 0xbad2 (wrong)", "checksum 0x0001 (wrong)", "len 1500", "ttl 0", "Version 5", "unknown   "} {
		wrong := map[bool]int{true: 1}[strings.Contains(want, "wrong")]
		if !strings.Contains(frames[i], want) || strings.Count(frames[i], "(wrong)") != wrong {
			t.Errorf("%q is not all that is wrong in\n%s", want, frames[i])
		}
	}
}
