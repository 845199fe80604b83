package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestWrongUseNamesItsHelp: the mend is the help of the verb that was meant, as far as it was recognised.
func TestWrongUseNamesItsHelp(t *testing.T) {
	for line, want := range map[string]string{
		"snd": "`wirespeed --help`", "send": "`wirespeed send --help`", "send x --sise 64": "`wirespeed send --help`",
		"lab up": "`wirespeed lab up --help`", "lab": "`wirespeed lab --help`",
	} {
		var out, err bytes.Buffer
		if exit := Run(context.Background(), strings.Fields(line), nil, &out, &err); exit != 1 || !strings.Contains(err.String(), "mend: "+want) {
			t.Errorf("%q: exit %d, %s", line, exit, err.String())
		}
	}
}

// TestHelpFitsEightyColumns: of every verb.
func TestHelpFitsEightyColumns(t *testing.T) {
	for _, verb := range []string{"", "demo", "ports", "show", "send", "receive", "rate", "pcap", "pcap info", "pcap check", "lab", "lab up", "lab down", "lab list", "lab exec", "restore", "schema", "version"} {
		var out, err bytes.Buffer
		if exit := Run(context.Background(), append(strings.Fields(verb), "--help"), nil, &out, &err); exit != 0 || !strings.Contains(out.String(), "Usage: wirespeed") {
			t.Errorf("%s: exit %d, %s", verb, exit, err.String())
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if len(line) > 80 {
				t.Errorf("%s: %d columns: %s", verb, len(line), line)
			}
		}
	}
}
