package trial

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wirespeed/wirespeed/internal/engine"
	"github.com/wirespeed/wirespeed/internal/host"
	"github.com/wirespeed/wirespeed/report"
)

// Exit statuses of every verb.
const (
	ExitOK          = 0
	ExitUsage       = 1 // wrong use or bad input; nothing was sent
	ExitEnvironment = 2 // permission, driver, link
	ExitShort       = 3 // the asked count was not sent, or the asked rate missed by more than 0.1 %
	ExitFailed      = 4 // a limit failed, or the verdict is invalid
	ExitInterrupted = 5
	ExitFault       = 6 // a fault of wirespeed itself
)

// A Refusal is an error with an exit status and a mend.
type Refusal struct {
	Code          int
	Message, Mend string
	cause         error
}

func (r *Refusal) Error() string {
	if r.Mend == "" {
		return r.Message
	}
	return r.Message + "; mend: " + r.Mend
}

// Unwrap gives the cause.
func (r *Refusal) Unwrap() error { return r.cause }

// Usage is bad input: exit status 1.
func Usage(mend, format string, args ...any) error {
	return &Refusal{Code: ExitUsage, Message: fmt.Sprintf(format, args...), Mend: mend}
}

// Environment is something that the host lacks: exit status 2.
func Environment(mend, format string, args ...any) error {
	return &Refusal{Code: ExitEnvironment, Message: fmt.Sprintf(format, args...), Mend: mend}
}

// EnvironmentOf wraps an error that came from the host, or from an engine that found the input wrong.
func EnvironmentOf(err error) error {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	if errors.Is(err, engine.ErrInput) {
		return UsageOf(err)
	}
	r := &Refusal{Code: ExitEnvironment, Message: err.Error(), cause: err}
	if a, ok := errors.AsType[*host.Absent](err); ok {
		r.Message, r.Mend = strings.TrimSuffix(r.Message, "; "+a.Mend), a.Mend
	}
	return r
}

// UsageOf wraps an error that came from the user's input.
func UsageOf(err error) error {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	return &Refusal{Code: ExitUsage, Message: err.Error(), cause: err}
}

// ErrorOf makes the error record of a document. An error that is no Refusal is a fault.
func ErrorOf(err error) *report.Error {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return &report.Error{Code: r.Code, Message: r.Message, Mend: r.Mend}
	}
	return &report.Error{Code: ExitFault, Message: err.Error(), Mend: "this is a fault of wirespeed: report it with this command line and the output of `wirespeed version`"}
}
