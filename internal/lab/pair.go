package lab

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/internal/tune"
)

// The ports of a pair.
const (
	DevA = "va" // in the first namespace
	DevB = "vb" // in the second
)

// Errors of UpPair.
var (
	ErrExists = errors.New("exists already")
	ErrInput  = errors.New("wrong input") // a name or number that no lab can have
)

// UpPair makes the namespaces nameA and nameB, joined by a veth pair with the ports va and vb of the given number of
// queues, both silent and up. It outlives this process until Down. Needs root.
func UpPair(j *tune.Journal, name string, queues int) (Info, error) {
	if err := checkName(name); err != nil {
		return Info{}, err
	}
	if err := checkQueues(queues); err != nil {
		return Info{}, err
	}
	if old, err := find(j, name); err == nil {
		if old.State != StateStale {
			return old, fmt.Errorf("lab %q %w; `wirespeed lab down %s` removes it", name, ErrExists, name)
		}
		if _, err := Down(j, name); err != nil {
			return old, err
		}
	} else if !errors.Is(err, ErrNoLab) {
		return Info{}, err
	}
	if err := makePair(j.In(tune.Group{Kind: KindPair, Name: name, Lasting: true}), name, queues); err != nil {
		_, undo := j.UndoGroup(name)
		return Info{}, errors.Join(err, undo)
	}
	return find(j, name)
}

func makePair(j *tune.Journal, name string, queues int) error {
	var ends [2]*host.NS
	for i, suffix := range []string{"A", "B"} {
		if _, err := j.Do(tune.Netns{Name: name + suffix}); err != nil {
			return err
		}
		ns, err := host.OpenNS(name + suffix)
		if err != nil {
			return err
		}
		defer ns.Close()
		ends[i] = ns
	}
	return Wire(ends[0], ends[1], DevA, DevB, queues)
}

// checkName allows what is safe in the name of a namespace, a path and a port's address.
func checkName(name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	if name == "" || len(name) > 32 || strings.Trim(name, letters) != "" || strings.HasPrefix(name, "-") {
		return inputError(fmt.Sprintf("%q is no name for a lab: use 1 to 32 letters, digits, - and _, not starting with -", name))
	}
	return nil
}

func checkQueues(queues int) error {
	if queues < 1 || queues > 64 {
		return inputError(fmt.Sprintf("%d queues: a lab's ports have 1 to 64", queues))
	}
	return nil
}

// inputError is an ErrInput with a text of its own.
type inputError string

func (e inputError) Error() string        { return string(e) }
func (e inputError) Is(target error) bool { return target == ErrInput }
