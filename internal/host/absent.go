package host

import "io/fs"

// Absent says that something asked for by its name is not there. It is fs.ErrNotExist.
type Absent struct {
	What string // the sentence
	Mend string // where the names are
}

func (a *Absent) Error() string { return a.What + "; " + a.Mend }

// Is makes errors.Is find fs.ErrNotExist.
func (a *Absent) Is(target error) bool { return target == fs.ErrNotExist }
