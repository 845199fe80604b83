// Package pcaptest makes capture files that generators are known to stumble over, and says what is in each. The bytes are put
// together here by the formats' descriptions, without the package that reads them, and are the same every time. Only tests
// import it.
package pcaptest

import (
	"os"
	"path/filepath"
)

// A File is a capture and what a reader finds in it.
type File struct {
	Name    string // with the ending that says what it is
	Bytes   []byte
	Packets []Packet // in their order
	Refused string   // it is no capture at all: a part of what is said
	Damage  *Damage  // behind the packets; nil: none
}

// Damage is where a file cannot be read on.
type Damage struct {
	Offset int64
	Cut    bool
	What   string // a part of what is said
}

// A Packet is one packet as a reader finds it.
type Packet struct {
	Data      []byte
	Orig      int
	TimeNs    int64
	Untimed   bool
	Link      uint32
	Interface int
	Section   int
	FCSLen    int
	Merged    bool
	Why       string // the reason why it cannot be sent as it is; empty: it can
	Mend      Mend   // by which it can be sent
}

// Mend are options that let a packet be sent which cannot be sent without.
type Mend uint8

// Mends; 0 where nothing helps or nothing is needed.
const (
	Pad Mend = 1 << iota
	L2
)

// A Row is a class of input.
type Row struct {
	Name  string
	Files []File
}

// Rows are all of them.
func Rows() []Row {
	return []Row{
		{"microseconds", microseconds()},
		{"nanoseconds", nanoseconds()},
		{"snapshot length", snapped()},
		{"too short", tooShort()},
		{"cut", cut()},
		{"no packets", noPackets()},
		{"bogus lengths", bogus()},
		{"two interfaces", twoInterfaces()},
		{"all blocks", allBlocks()},
		{"offsets and unlimited", offsets()},
		{"times", times()},
		{"super frames", superFrames()},
		{"link types", linkTypes()},
		{"frames with a length", lengthFrames()},
		{"frames of many sizes", sizes()},
		{"tags", tags()},
		{"labels", labels()},
		{"extension headers", extensions()},
		{"odd IPv4", oddIPv4()},
		{"UDP checksums", udpChecksums()},
		{"compressed", compressed()},
	}
}

// Files are those of all rows.
func Files() (all []File) {
	for _, r := range Rows() {
		all = append(all, r.Files...)
	}
	return all
}

// Named is the file of this name; it has no bytes where there is none.
func Named(name string) File {
	for _, f := range Files() {
		if f.Name == name {
			return f
		}
	}
	return File{}
}

// Write puts all files into a folder.
func Write(dir string) error {
	for _, f := range Files() {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Bytes, 0o644); err != nil {
			return err
		}
	}
	return nil
}
