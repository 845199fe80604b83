package engine

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ErrInput: what the user wrote is wrong, whatever the host has. Engines wrap it in errors about options and the like.
var ErrInput = errors.New("wrong input")

// InputError is an ErrInput with a text of its own.
type InputError string

func (e InputError) Error() string { return string(e) }

// Is makes it an ErrInput.
func (e InputError) Is(target error) bool { return target == ErrInput }

// A Target is the address of a port: [engine:]device[@netns][?option=value&...], or pcap:FILE[?...] and null:.
type Target struct {
	Engine  string // empty: any
	Device  string
	Netns   string // name of the network namespace; empty: our own
	Options url.Values
	Text    string // as it was written
	Label   string // what people are shown instead of the address; empty: the address
}

// String is the address without engine and options, or the label.
func (t Target) String() string {
	if t.Label != "" {
		return t.Label
	}
	if t.Netns != "" {
		return t.Device + "@" + t.Netns
	}
	if ownAddress(t.Engine) && t.Device != "" {
		return t.Engine + ":" + t.Device
	}
	return cmp.Or(t.Device, t.Engine)
}

// ownAddress are the engines whose ports are no devices: what stands behind the colon is theirs, an @ too, and may be empty.
func ownAddress(engine string) bool { return engine == "pcap" || engine == "null" }

// ParseTarget reads the address of a port. engines are the names that may stand before the colon.
func ParseTarget(s string, engines []string) (Target, error) {
	t := Target{Text: s}
	rest, query, hasQuery := strings.Cut(s, "?")
	if hasQuery {
		v, err := url.ParseQuery(query)
		if err != nil {
			return t, fmt.Errorf("port %q: options are name=value&...: %w", s, err)
		}
		t.Options = v
	}
	if name, dev, ok := strings.Cut(rest, ":"); ok {
		known := false
		for _, e := range engines {
			known = known || e == name
		}
		if !known {
			return t, fmt.Errorf("port %q: no engine %q here; engines: %s", s, name, strings.Join(engines, ", "))
		}
		t.Engine, rest = name, dev
	}
	if ownAddress(t.Engine) {
		t.Device = rest
		return t, nil
	}
	t.Device, t.Netns, _ = strings.Cut(rest, "@")
	if t.Device == "" {
		return t, fmt.Errorf("port %q names no device: write [engine:]device[@netns]", s)
	}
	if strings.HasSuffix(rest, "@") {
		return t, fmt.Errorf("port %q names no namespace behind the @", s)
	}
	return t, nil
}
