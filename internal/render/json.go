package render

import (
	"encoding/json"
	"io"
)

// JSON writes v as one indented document with a newline at its end.
func JSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// JSONLine writes v as one line.
func JSONLine(w io.Writer, v any) error { return encode(w, v, "") }

func encode(w io.Writer, v any, indent string) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e.Encode(v)
}
