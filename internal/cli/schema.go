package cli

import (
	"github.com/wirespeed/wirespeed/report"
	"github.com/wirespeed/wirespeed/stream"
)

// schemaCmd is `schema`.
type schemaCmd struct {
	Of string `arg:"" enum:"stream,run" default:"stream" help:"stream: the definition of streams in a file; run: the result that --json prints. Default stream."`
}

func (c *schemaCmd) run(e *env) (int, error) {
	doc := stream.JSONSchema()
	if c.Of == "run" {
		doc = report.JSONSchema()
	}
	_, err := e.stdout.Write(doc)
	return 0, err
}
