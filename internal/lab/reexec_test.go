package lab

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestExplainUsernsNamesTheSysctl(t *testing.T) {
	for _, c := range []struct {
		file, value, want string
		err               error
	}{
		{"kernel/apparmor_restrict_unprivileged_userns", "1\n", "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0", unix.EPERM},
		{"kernel/unprivileged_userns_clone", "0\n", "sudo sysctl kernel.unprivileged_userns_clone=1", unix.EPERM},
		{"user/max_user_namespaces", "0\n", "sudo sysctl user.max_user_namespaces=10000", unix.ENOSPC},
		{"user/max_user_namespaces", "100\n", "seccomp", &fs.PathError{Op: "fork/exec", Err: unix.EPERM}},
	} {
		sys := t.TempDir()
		path := filepath.Join(sys, c.file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(c.value), 0o600)); err != nil {
			t.Fatal(err)
		}
		err := explainUserns(c.err, sys)
		u, ok := errors.AsType[*UsernsError](err)
		if !ok || !strings.Contains(u.Mend, c.want) || !strings.Contains(u.Mend, "sudo") || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %q in it", c.file, err, c.want)
		}
	}
	if err := explainUserns(unix.ENOENT, t.TempDir()); !errors.Is(err, unix.ENOENT) {
		t.Error(err)
	} else if _, ok := errors.AsType[*UsernsError](err); ok {
		t.Error("a missing file is taken for a forbidden namespace")
	}
}
