package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// numberDigits is the least number of digits in the name of a file of a rotation, so that names sort.
const numberDigits = 5

// name is the path of the n-th file, from 1: the path itself, or with rotation the path with the number before its
// extension.
func (s *Spec) name(n int) string {
	if !s.rotates() {
		return s.Path
	}
	ext := filepath.Ext(s.Path)
	return fmt.Sprintf("%s-%0*d%s", strings.TrimSuffix(s.Path, ext), numberDigits, n, ext)
}

// earlier are the files of an earlier capture of the same name.
func (s *Spec) earlier() (paths []string, err error) {
	if !s.rotates() {
		info, err := os.Stat(s.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeCharDevice != 0: // /dev/null has no earlier content
			return nil, nil
		case !info.Mode().IsRegular():
			return nil, &NotAFile{s.Path}
		}
		return []string{s.Path}, nil
	}
	dir := filepath.Dir(s.Path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	ext := filepath.Ext(s.Path)
	prefix := strings.TrimSuffix(filepath.Base(s.Path), ext) + "-"
	for _, e := range entries {
		number, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ext), prefix)
		if !ok || !strings.HasSuffix(e.Name(), ext) || len(number) < numberDigits || !e.Type().IsRegular() {
			continue
		}
		if n, err := strconv.ParseUint(number, 10, 31); err == nil && filepath.Base(s.name(int(n))) == e.Name() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

// Exists says that a file of the capture is there already, and was not to be overwritten.
type Exists struct{ Path string }

func (e *Exists) Error() string { return e.Path + " exists" }

// NotAFile says that a capture cannot be written there.
type NotAFile struct{ Path string }

func (e *NotAFile) Error() string { return e.Path + " is no regular file" }
