package archtest

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modules are those linked into the binary, with a phrase of their licence. A new one belongs here with its reason in the
// commit: every dependency is one more author to trust with root.
var modules = map[string]string{
	"github.com/alecthomas/kong":       mit,
	"github.com/bahlo/generic-list-go": bsd,
	"github.com/buger/jsonparser":      mit,
	"github.com/cilium/ebpf":           mit,
	"github.com/goccy/go-yaml":         mit,
	"github.com/gopacket/gopacket":     bsd,
	"github.com/invopop/jsonschema":    mit,
	"github.com/jedib0t/go-pretty/v6":  mit,
	"github.com/mattn/go-runewidth":    mit,
	"github.com/mdlayher/packet":       mit,
	"github.com/mdlayher/socket":       mit,
	"github.com/pb33f/ordered-map/v2":  apache,
	"github.com/rivo/uniseg":           mit,
	"github.com/safchain/ethtool":      apache,
	"github.com/vishvananda/netlink":   apache,
	"github.com/vishvananda/netns":     apache,
	"go.yaml.in/yaml/v4":               mit,
	"golang.org/x/net":                 bsd,
	"golang.org/x/sync":                bsd,
	"golang.org/x/sys":                 bsd,
	"golang.org/x/term":                bsd,
	"golang.org/x/text":                bsd,
}

// Phrases that only one of the licences has.
const (
	mit    = "Permission is hereby granted, free of charge"
	bsd    = "Redistribution and use in source and binary forms"
	apache = "Apache License"
)

func TestModulesAreKnown(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "./cmd/wirespeed")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	linked := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			linked[path] = dir
		}
	}
	for _, path := range slices.Sorted(maps.Keys(linked)) {
		phrase, known := modules[path]
		if !known {
			t.Errorf("module %s is new: add it to the list with its licence, or do without", path)
		} else if !licensed(t, linked[path], phrase) {
			t.Errorf("module %s: no licence file with %q", path, phrase)
		}
	}
	for path := range modules {
		if linked[path] == "" {
			t.Errorf("module %s is not linked any more: take it off the list", path)
		}
	}
}

func licensed(t *testing.T, dir, phrase string) bool {
	t.Helper()
	for _, pattern := range []string{"LICENSE*", "COPYING*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			text, err := os.ReadFile(n)
			if err == nil && strings.Contains(strings.Join(strings.Fields(string(text)), " "), phrase) {
				return true
			}
		}
	}
	return false
}
