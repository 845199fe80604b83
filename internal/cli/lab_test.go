package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/lab/need"
)

// verb runs a command line in this process.
func verb(t *testing.T, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	var out, bad bytes.Buffer
	exit = Run(context.Background(), args, strings.NewReader(""), &out, &bad)
	return exit, out.String(), bad.String()
}

func TestLabFromUpToDown(t *testing.T) {
	need.Root(t)
	name := fmt.Sprintf("t-host-%d-%x", os.Getpid(), time.Now().UnixNano()&0xffffff)
	t.Cleanup(func() { verb(t, "lab", "down", name) })
	if exit, out, bad := verb(t, "lab", "up", "pair", "--name", name, "--queues", "2"); exit != 0 || !strings.Contains(out, "va@"+name+"A") {
		t.Fatalf("up: %d %s %s", exit, out, bad)
	}
	if exit, _, bad := verb(t, "lab", "up", "pair", "--name", name); exit != 1 || !strings.Contains(bad, "wirespeed lab down "+name) {
		t.Errorf("up again: %d %s", exit, bad)
	}
	exit, out, _ := verb(t, "lab", "list", "--json")
	var doc struct{ Labs []lab.Info }
	if err := json.Unmarshal([]byte(out), &doc); err != nil || exit != 0 {
		t.Fatalf("list: %d %v %s", exit, err, out)
	}
	if !slices.ContainsFunc(doc.Labs, func(l lab.Info) bool {
		return l.Name == name && l.Kind == "pair" && l.State == "up" && len(l.Namespaces) == 2
	}) {
		t.Errorf("list: %+v", doc.Labs)
	}
	if exit, out, bad := verb(t, "lab", "exec", name+"B", "--", "sh", "-c", "ls /sys/class/net; exit 3"); exit != 3 || !strings.Contains(out, "vb") {
		t.Errorf("exec: %d %s %s", exit, out, bad)
	}
	if exit, out, bad := verb(t, "ports", "va@"+name+"A", "--json"); exit != 0 || !strings.Contains(out, `"tx_queues": 2`) || !strings.Contains(out, `"link_bps": null`) {
		t.Errorf("ports: %d %s %s", exit, out, bad)
	}
	if !lab.IsOurs(name+"A") || lab.IsOurs("") || lab.IsOurs("t-host-nosuch") {
		t.Error("a lab's namespace is ours, this process's and none are not")
	}
	if exit, out, bad := verb(t, "lab", "down", name, "--json"); exit != 0 || !strings.Contains(out, name) {
		t.Errorf("down: %d %s %s", exit, out, bad)
	}
	if exit, _, bad := verb(t, "lab", "down", name); exit != 1 || !strings.Contains(bad, "lab list") {
		t.Errorf("down again: %d %s", exit, bad)
	}
}

// What `lab up` proposes to try works as it is written there, with fewer frames.
func TestLabProposesWhatWorks(t *testing.T) {
	need.Root(t)
	for _, kind := range []string{"pair", "router", "bridge"} {
		name := fmt.Sprintf("t-host-%d-%x", os.Getpid(), time.Now().UnixNano()&0xffffff)
		t.Cleanup(func() { verb(t, "lab", "down", name) })
		exit, out, bad := verb(t, "lab", "up", kind, "--name", name, "--mtu", "2000")
		_, try, found := strings.Cut(strings.TrimSpace(out), "try: wirespeed ")
		if exit != 0 || !found {
			t.Fatalf("up %s: %d %s %s", kind, exit, out, bad)
		}
		args := strings.Fields(strings.Replace(try, "--count 1000000", "--count 500 --json", 1))
		if exit, out, bad := verb(t, args...); exit != 0 || !strings.Contains(out, `"sent": 500`) || !strings.Contains(out, `"status": "valid"`) {
			t.Errorf("%s: %d %s %s", try, exit, out, bad)
		}
		verb(t, "lab", "down", name)
	}
}

func TestLabMistakes(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"lab up pair --name a/b", "no name for a lab"}, {"lab up pair --name x --queues 0", "1 to 64"}, {"lab up ring --name x", "pair"},
		{"lab up router --name x --mtu 1279", "1280 to 65535"}, {"lab up bridge --name x --mtu 0x", "--mtu"}, {"lab up bridge", "--name"},
		{"lab up pair", "--name"}, {"lab down", "--all"}, {"lab down x --all", "not both"}, {"lab exec t-host-nosuch -- true", "lab list"},
	} {
		if exit, out, bad := verb(t, strings.Fields(c.args)...); exit != 1 || out != "" || !strings.Contains(bad, c.want) {
			t.Errorf("%s: %d %q %q, want 1 and %q", c.args, exit, out, bad, c.want)
		}
		exit, out, _ := verb(t, append([]string{"--json"}, strings.Fields(c.args)...)...)
		if exit != 1 || !strings.HasPrefix(out, `{"error":{"code":1,`) {
			t.Errorf("--json %s: %d %q", c.args, exit, out)
		}
	}
}

func TestRestoreListsItsWork(t *testing.T) {
	exit, out, bad := verb(t, "restore", "--json")
	var doc struct{ Changes []map[string]any }
	if err := json.Unmarshal([]byte(out), &doc); err != nil || exit != 0 || doc.Changes == nil {
		t.Errorf("%d %v %s %s; want a list, if empty", exit, err, out, bad)
	}
}
