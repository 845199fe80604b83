package capture

import (
	"errors"
	"io/fs"
	"os"
)

// file is one capture file. What was written of it whole is size bytes.
type file struct {
	*os.File
	path    string
	regular bool
	created bool // by us
	size    int64
}

// filePerm lets the owner alone read: a capture holds what people said.
const filePerm = 0o600

// openFile opens the file that is there, or makes a new one. What is there keeps its content until empty.
func openFile(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, filePerm)
	created := err == nil
	if errors.Is(err, fs.ErrExist) {
		f, err = os.OpenFile(path, os.O_WRONLY, 0)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &file{File: f, path: path, regular: info.Mode().IsRegular(), created: created}, nil
}

// discard closes the file, and removes it where it was made for nothing.
func (f *file) discard() {
	_ = f.Close()
	if f.created {
		_ = os.Remove(f.path)
	}
}

// empty throws away what an earlier capture left in it.
func (f *file) empty() error {
	if !f.regular {
		return nil
	}
	return f.Truncate(0)
}

// cut takes back what was written behind the last whole write.
func (f *file) cut() error {
	if !f.regular {
		return nil
	}
	if err := f.Truncate(f.size); err != nil {
		return err
	}
	_, err := f.Seek(f.size, 0)
	return err
}
