package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/wirespeed/wirespeed/report"
)

func itoa(n int) string { return strconv.Itoa(n) }

func mac(m [6]byte) string { return net.HardwareAddr(m[:]).String() }

// A sample is what one turn of one contender came to.
type sample struct {
	fps        float64
	deviceSize float64 // bytes per frame by the device's own count
	lost       int64
	drops      uint64 // of the receiver itself
	known      bool   // lost and drops are known
}

// frameSize is the size with FCS. With a program attached, a veth counts a socket's frames without their Ethernet header
// (drivers/net/veth.c: the header has been pulled by then) and live frames with it.
func (c contender) frameSize(s sample) float64 {
	const header, fcs = 14, 4
	if c.socket {
		return s.deviceSize + header + fcs
	}
	return s.deviceSize + fcs
}

// the moments of a turn: a tool that has begun to send is left alone for warmUp, then counted for the testbed's window.
const (
	startLimit = 10 * time.Second
	warmUp     = 400 * time.Millisecond
	stopLimit  = 5 * time.Second
)

// turn runs one contender, reads the device's counters twice while it sends, and stops it.
func turn(ctx context.Context, w *testbed, c contender) (s sample, err error) {
	if !c.analyses && c.receiver == nil {
		undo, err := w.drop()
		if err != nil {
			return s, err
		}
		defer func() { err = errors.Join(err, undo()) }()
	}
	if c.receiver != nil {
		stop, err := startReceiver(ctx, w, c.receiver)
		if err != nil {
			return s, err
		}
		defer stop()
	}
	command := c.command
	if c.inA {
		command = append([]string{"ip", "netns", "exec", w.a}, command...)
	}
	child, err := start(ctx, command)
	if err != nil {
		return s, err
	}
	defer child.kill()
	s, err = count(ctx, w)
	if err != nil {
		return s, fmt.Errorf("%w\n%s%s", err, child.out.String(), child.errs.String())
	}
	if !c.own {
		return s, nil
	}
	if !c.analyses {
		_ = child.cmd.Process.Signal(os.Interrupt) // it may have ended by itself
	}
	err = child.readReport(&s)
	return s, err
}

// count waits for frames, then measures.
func count(ctx context.Context, w *testbed) (s sample, err error) {
	begin, err := w.counters()
	if err != nil {
		return s, err
	}
	for limit := time.Now().Add(startLimit); ; {
		now, err := w.counters()
		if err != nil {
			return s, err
		}
		if now.RxFrames > begin.RxFrames+1000 {
			break
		}
		if time.Now().After(limit) {
			return s, fmt.Errorf("no frames arrive within %v", startLimit)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return s, err
		}
	}
	if err := sleep(ctx, warmUp); err != nil {
		return s, err
	}
	at := time.Now()
	first, err := w.counters()
	if err != nil {
		return s, err
	}
	if err := sleep(ctx, w.window); err != nil {
		return s, err
	}
	last, err := w.counters()
	took := time.Since(at)
	frames := float64(last.RxFrames - first.RxFrames)
	if err == nil && frames == 0 {
		err = errors.New("it stopped sending before it was measured")
	}
	if err != nil {
		return s, err
	}
	s.fps = frames / took.Seconds()
	s.deviceSize = float64(last.RxBytes-first.RxBytes) / frames
	return s, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// A process is a child in a process group of its own.
type process struct {
	cmd       *exec.Cmd
	out, errs bytes.Buffer
	done      chan struct{}
	err       error // valid once done is closed
}

func start(ctx context.Context, command []string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, command[0], command[1:]...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errs
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// kill ends it and everything it started.
func (p *process) kill() {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.done:
			return
		default:
		}
		_ = syscall.Kill(-p.cmd.Process.Pid, signal)
		select {
		case <-p.done:
			return
		case <-time.After(stopLimit):
		}
	}
}

// readReport waits for wirespeed to end and takes over what its receiver says.
func (p *process) readReport(s *sample) error {
	select {
	case <-p.done:
	case <-time.After(startLimit):
		return errors.New("wirespeed does not end")
	}
	doc, err := decode(p.out.Bytes())
	if err != nil {
		return fmt.Errorf("%w: %v: %s", err, p.err, p.errs.String())
	}
	for _, port := range doc.Ports {
		if port.Rx != nil && port.Rx.TesterDrops != nil {
			s.drops += *port.Rx.TesterDrops
		}
	}
	for _, stream := range doc.Streams {
		if stream.Rx != nil && stream.Rx.Lost != nil {
			s.lost, s.known = s.lost+*stream.Rx.Lost, true
		}
	}
	return nil
}

// decode reads a run document. A run that failed before it began has only an error.
func decode(out []byte) (*report.Run, error) {
	var doc report.Run
	if err := json.Unmarshal(out, &doc); err != nil {
		return nil, err
	}
	if doc.Error != nil && len(doc.Ports) == 0 {
		return nil, errors.New(doc.Error.Message + "; mend: " + doc.Error.Mend)
	}
	return &doc, nil
}

// startReceiver starts a receiver in namespace B that says a line when it is ready and ends with its standard input,
// or when it is interrupted.
func startReceiver(ctx context.Context, w *testbed, command []string) (stop func(), err error) {
	cmd := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", w.b}, command...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = in.Close()
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended already
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		stop()
		return nil, fmt.Errorf("receiver: %w", err)
	}
	return stop, nil
}
