package doctest

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wirespeed/wirespeed/report"
)

// resultsPage describes every field of a result.
const resultsPage = "docs/results.md"

// TestEveryFieldOfAResultIsDescribed compares the tables of the page with the types, in order: a section whose heading ends
// in the path of an object has a row for each of its fields, and no other.
func TestEveryFieldOfAResultIsDescribed(t *testing.T) {
	page := fieldTables(pages(t)[resultsPage])
	want := map[string][]string{}
	objects(reflect.TypeFor[report.Run](), "", want)
	want["run"] = want[""]
	delete(want, "")
	objects(reflect.TypeFor[report.Interval](), "interval", want)
	if len(want) < 15 {
		t.Fatalf("only %d objects found in a result: %v", len(want), want)
	}
	for path, fields := range want {
		if got := page[path]; !slices.Equal(got, fields) {
			t.Errorf("%s, section `%s`: fields\n%q, a result has\n%q", resultsPage, path, got, fields)
		}
	}
}

// objects gathers the names of the fields of a type and of all objects inside, by path.
func objects(typ reflect.Type, path string, into map[string][]string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		into[path] = append(into[path], name)
		inner := strings.TrimPrefix(path+"."+name, ".")
		of := f.Type
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			if of.Kind() == reflect.Slice {
				inner += "[]"
			}
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct {
			objects(of, inner, into)
		}
	}
}

var (
	pathHeading = regexp.MustCompile("^#+ .*`([^`]+)`$")
	fieldRow    = regexp.MustCompile("^\\| `([^`]+)` \\|")
)

// fieldTables finds the first names of table rows, by the path at the end of the heading above.
func fieldTables(text string) map[string][]string {
	all := map[string][]string{}
	path := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			path = ""
			if m := pathHeading.FindStringSubmatch(line); m != nil {
				path = m[1]
			}
		} else if m := fieldRow.FindStringSubmatch(line); m != nil && path != "" {
			all[path] = append(all[path], m[1])
		}
	}
	return all
}

func TestFieldTablesAreFound(t *testing.T) {
	got := fieldTables("## One: `a.b`\n\n| `x` | is |\n| --- |\n| `y` | is |\n## Other\n| `z` | is not |\n")
	if want := []string{"x", "y"}; len(got) != 1 || !slices.Equal(got["a.b"], want) {
		t.Errorf("tables %v, want %v under a.b", got, want)
	}
}
