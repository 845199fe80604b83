// Command wirespeed fills a wire with small frames, says what arrived, and names what holds the rate back.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/wirespeed/wirespeed/internal/cli"
	"github.com/wirespeed/wirespeed/internal/lab"
	"github.com/wirespeed/wirespeed/internal/trial"
)

// spareProcs is how many goroutines can run beside one spinning worker on each core.
const spareProcs = 4

func main() {
	// The main thread stays with this goroutine, so that no other one changes its network namespace: /proc/self is this
	// thread's.
	runtime.LockOSThread()
	// A worker that spins to keep a rate holds its P for the whole run: without spare ones the rest of the program, which
	// has to stop it, waits for up to 10 ms at a time.
	runtime.GOMAXPROCS(runtime.NumCPU() + spareProcs)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(signals, syscall.SIGHUP) // the terminal went: the host is put back all the same
	}
	// Whoever read the results went: each further write fails, and says so. It is no second Ctrl-C.
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	go func() { <-unread; stop() }()
	go func() {
		<-signals
		if !lab.Inside() { // else the process outside has said so
			fmt.Fprintln(os.Stderr, "stopping: draining and reporting; once more aborts")
		}
		stop()
		<-signals
		fmt.Fprintln(os.Stderr, "aborted: `wirespeed restore` undoes what is left on the host")
		os.Exit(trial.ExitInterrupted)
	}()
	code := cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	os.Exit(code)
}
