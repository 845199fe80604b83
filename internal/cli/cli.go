package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/wirespeed/wirespeed/internal/trial"
	"github.com/wirespeed/wirespeed/report"
)

// grammar is the whole command line.
type grammar struct {
	JSON  bool `name:"json" help:"Print one JSON document on standard output, also when the command fails."`
	JSONL bool `name:"jsonl" help:"Print a record a second while a run goes on, and the document as the last line."`
	Quiet bool `short:"q" help:"No progress and no messages on standard error; errors are still printed."`

	Demo    demoCmd    `cmd:"" help:"Fill a private veth pair and show what arrives: no NIC, no set-up. Example: wirespeed demo"`
	Ports   PortsCmd   `cmd:"" help:"Ports, and for each engine whether it works there. Example: wirespeed ports"`
	Show    ShowCmd    `cmd:"" help:"Decode what a stream would send; sends nothing. Example: wirespeed show --size imix --frames 3"`
	Send    sendCmd    `cmd:"" help:"Send, and with --rx receive and analyse. Example: wirespeed send va@A --rx vb@B --count 1000000"`
	Receive receiveCmd `cmd:"" help:"Count and analyse what arrives until Ctrl-C. Example: wirespeed receive vb@B"`
	Rate    rateCmd    `cmd:"" help:"Wire arithmetic: frames, bits and gaps of a rate. Example: wirespeed rate --size 64 --link 1G"`
	Pcap    PcapCmd    `cmd:"" help:"Capture files: what they hold, and what of it can be sent. Example: wirespeed pcap info trace.pcapng"`
	Lab     LabCmd     `cmd:"" help:"Test topologies of network namespaces. Example: wirespeed lab up pair --name x"`
	Restore RestoreCmd `cmd:"" help:"Undo what a crash left behind on this host. Example: wirespeed restore"`
	Schema  schemaCmd  `cmd:"" help:"Print the JSON Schema of a stream file or of a result. Example: wirespeed schema stream"`
	Version versionCmd `cmd:"" help:"Print the version. Example: wirespeed version"`
}

// env is what a verb gets of the world.
type env struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	args           []string
	out            output
}

// command is a verb. An error is printed by Run, with its exit status.
type command interface {
	run(e *env) (exit int, err error)
}

// Run runs one command line, without the program's name, and returns the exit status; trial has the list.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (exit int) {
	e := &env{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr, args: args}
	e.out.asked(args)
	defer func() {
		if r := recover(); r != nil {
			exit = e.fail(fmt.Errorf("panic: %v", r))
		}
	}()
	var g grammar
	kctx, done, err := parse(&g, args, stdout, stderr)
	if done {
		return trial.ExitOK
	}
	if err != nil {
		return e.fail(trial.Usage(helpFor(err), "%s", err))
	}
	e.out = output{json: g.JSON, jsonl: g.JSONL, quiet: g.Quiet}
	if g.JSON && g.JSONL {
		return e.fail(trial.Usage("give one", "--json together with --jsonl"))
	}
	cmd, ok := kctx.Selected().Target.Addr().Interface().(command)
	if !ok {
		return e.fail(fmt.Errorf("verb %q has nothing to run", kctx.Command()))
	}
	exit, err = cmd.run(e)
	switch {
	case errors.Is(err, errUnread):
		return trial.ExitInterrupted
	case err != nil:
		return e.fail(unwritten(err))
	}
	return exit
}

// errUnread: whoever read standard output, such as head, has seen enough. Nobody wants to be told.
const errUnread = unix.EPIPE

// stdoutName is what package os calls standard output.
const stdoutName = "/dev/stdout"

// unwritten tells results that found no room from faults.
func unwritten(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && path.Op == "write" && path.Path == stdoutName {
		return trial.Environment("make room, or write elsewhere", "the result could not be written: %v", err)
	}
	return err
}

// helpFor names the help of the verb that a command line got as far as.
func helpFor(err error) string {
	words := []string{"wirespeed"}
	if p, ok := errors.AsType[*kong.ParseError](err); ok && p.Context != nil {
		for _, step := range p.Context.Path {
			if step.Command != nil {
				words = append(words, step.Command.Name)
			}
		}
	}
	return "`" + strings.Join(append(words, "--help"), " ") + "` says what can be written"
}

// Parse checks a command line without running it.
func Parse(args []string) error {
	var g grammar
	var sink bytes.Buffer
	_, _, err := parse(&g, args, &sink, &sink)
	return err
}

// parse reads the command line. done: help was asked for and printed.
func parse(g *grammar, args []string, stdout, stderr io.Writer) (ctx *kong.Context, done bool, err error) {
	k, err := kong.New(g,
		kong.Name("wirespeed"),
		kong.Description("A packet generator, an analyser and a laboratory of the transmit path. Sizes are bytes with the FCS."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { done = true }),
		kong.WithHyphenPrefixedParameters(true), // a value below 0 is refused by who knows what the value means
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
	if err != nil {
		return nil, false, err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err = k.Parse(args)
	if done {
		return nil, true, nil
	}
	return ctx, false, err
}

// output says where results go.
type output struct{ json, jsonl, quiet bool }

// asked looks for the output flags before the command line is parsed: errors in it are printed in that form too.
func (o *output) asked(args []string) {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	o.json = slices.Contains(args, "--json")
	o.jsonl = slices.Contains(args, "--jsonl")
}

func (o output) machine() bool { return o.json || o.jsonl }

// fail prints an error and returns its exit status.
func (e *env) fail(err error) int {
	r := trial.ErrorOf(err)
	if e.out.machine() {
		doc := struct {
			Error *report.Error `json:"error"`
		}{r}
		if json.NewEncoder(e.stdout).Encode(doc) == nil {
			return r.Code
		}
	}
	fmt.Fprintf(e.stderr, "wirespeed: %s\n", r.Message)
	if r.Mend != "" {
		fmt.Fprintf(e.stderr, "  mend: %s\n", r.Mend)
	}
	return r.Code
}

// message is a line for a person.
func (e *env) message(s string) {
	if !e.out.quiet {
		fmt.Fprintf(e.stderr, "wirespeed: %s\n", s)
	}
}

// terminal reports whether w is one.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
