package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wirespeed/wirespeed/internal/cli"
	"github.com/wirespeed/wirespeed/report"
)

// patience bounds every wait. It is generous: the machine may be busy with other things.
const patience = 30 * time.Second

// result is what one command line came to.
type result struct {
	exit           int
	stdout, stderr string
	doc            *report.Run // with --json
}

// run runs one command line in this process and checks its document. What does not end by itself is interrupted.
func run(t testing.TB, args ...string) *result {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience) // also in a cleanup, where t.Context is done
	defer stop()
	var out, errs bytes.Buffer
	exit := cli.Run(ctx, args, strings.NewReader(""), &out, &errs)
	if ctx.Err() != nil {
		t.Errorf("wirespeed %s did not end in %v", strings.Join(args, " "), patience)
	}
	return finish(t, args, exit, out.String(), errs.String())
}

// started is a command line that runs in this process, behind the test.
type started struct {
	args []string
	done chan struct{}
	exit int
	out  bytes.Buffer
	errs bytes.Buffer
	stop context.CancelFunc
}

// start runs one command line in this process while the test goes on. The test must wait for it before it starts another.
func start(t testing.TB, args ...string) *started {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := &started{args: args, done: make(chan struct{}), stop: stop}
	go func() {
		defer close(s.done)
		s.exit = cli.Run(ctx, args, strings.NewReader(""), &s.out, &s.errs)
	}()
	t.Cleanup(func() { stop(); <-s.done })
	return s
}

func (s *started) wait(t testing.TB) *result {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		t.Fatalf("wirespeed %s has not ended after %v", strings.Join(s.args, " "), patience)
	}
	return finish(t, s.args, s.exit, s.out.String(), s.errs.String())
}

// finish reads and checks the document of a command that ended.
func finish(t testing.TB, args []string, exit int, stdout, stderr string) *result {
	t.Helper()
	r := &result{exit: exit, stdout: stdout, stderr: stderr}
	if !slices.Contains(args, "--json") || args[0] != "send" && args[0] != "receive" && args[0] != "demo" {
		return r
	}
	var doc report.Run
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatalf("wirespeed %s: status %d, no document: %v\n%s%s", strings.Join(args, " "), exit, err, stdout, stderr)
	}
	r.doc = &doc
	if (exit != 0) != (doc.Error != nil) || doc.Error != nil && doc.Error.Code != exit {
		t.Errorf("status %d, error of the document %+v", exit, doc.Error)
	}
	if doc.Schema == "" { // an error before anything was sent
		return r
	}
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(stdout))
	if err == nil {
		err = runSchema().Validate(parsed)
	}
	if err != nil {
		t.Errorf("the document does not follow its schema: %v\n%s", err, stdout)
	}
	for _, path := range unexplained(parsed, doc.Reasons) {
		t.Errorf("%s is null without a reason; reasons: %v", path, doc.Reasons)
	}
	return r
}

// runSchema is what `wirespeed schema run` prints.
var runSchema = sync.OnceValue(func() *jsonschema.Schema {
	var out, errs bytes.Buffer
	cli.Run(context.Background(), []string{"schema", "run"}, strings.NewReader(""), &out, &errs)
	doc, err := jsonschema.UnmarshalJSON(&out)
	if err != nil {
		panic(fmt.Sprint("schema run: ", err, errs.String()))
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("run.json", doc); err != nil {
		panic(err)
	}
	return c.MustCompile("run.json")
})

// unexplained are the paths of nulls for which neither they nor what holds them has a reason.
func unexplained(v any, reasons map[string]string) (bad []string) {
	var walk func(v any, path string, explained bool)
	walk = func(v any, path string, explained bool) {
		explained = explained || reasons[path] != ""
		switch v := v.(type) {
		case nil:
			if !explained {
				bad = append(bad, path)
			}
		case map[string]any:
			for k, e := range v {
				walk(e, strings.TrimPrefix(path+"."+k, "."), explained)
			}
		case []any:
			for i, e := range v {
				walk(e, fmt.Sprintf("%s[%d]", path, i), explained)
			}
		}
	}
	walk(v, "", false)
	slices.Sort(bad)
	return bad
}

// wantExit checks the status, and that the message names what it should.
func (r *result) wantExit(t testing.TB, exit int, say ...string) {
	t.Helper()
	if r.exit != exit {
		t.Fatalf("status %d, want %d\n%s", r.exit, exit, r.all())
	}
	for _, s := range say {
		if !strings.Contains(r.stdout+r.stderr, s) {
			t.Errorf("nothing says %q:\n%s", s, r.all())
		}
	}
}

// all is what was printed, a document in one line.
func (r *result) all() string {
	out := r.stdout
	if r.doc != nil {
		out = show(r.doc)
	}
	return "stdout: " + out + "\nstderr: " + r.stderr
}

// tx is the first port's send side.
func (r *result) tx(t testing.TB) *report.Tx {
	t.Helper()
	if r.doc == nil || len(r.doc.Ports) == 0 || r.doc.Ports[0].Tx == nil {
		t.Fatalf("status %d, nothing was sent\n%s", r.exit, r.all())
	}
	return r.doc.Ports[0].Tx
}

// rx is the last port's receive side.
func (r *result) rx(t testing.TB) *report.Rx {
	t.Helper()
	if r.doc == nil || len(r.doc.Ports) == 0 || r.doc.Ports[len(r.doc.Ports)-1].Rx == nil {
		t.Fatalf("status %d, nothing was received\n%s", r.exit, r.all())
	}
	return r.doc.Ports[len(r.doc.Ports)-1].Rx
}

// stream is the receive side of stream i.
func (r *result) stream(t testing.TB, i int) *report.StreamRx {
	t.Helper()
	if i >= len(r.doc.Streams) || r.doc.Streams[i].Rx == nil {
		t.Fatalf("nothing received of stream %d:\n%s", i, r.all())
	}
	return r.doc.Streams[i].Rx
}

func (r *result) wantVerdict(t testing.TB, status string) {
	t.Helper()
	if r.doc.Verdict.Status != status {
		t.Errorf("verdict %+v, want %s\n%s", r.doc.Verdict, status, r.all())
	}
}

// wantWhole: all was sent, all arrived, and nobody disagrees.
func (r *result) wantWhole(t testing.TB, n uint64) {
	t.Helper()
	r.wantExit(t, 0)
	r.wantVerdict(t, "valid")
	if tx := r.tx(t); tx.Sent != n || tx.Unsent != 0 {
		t.Errorf("sent %d, unsent %d, want %d and 0", tx.Sent, tx.Unsent, n)
	}
	var frames uint64
	for i := range r.doc.Streams {
		rx := r.stream(t, i)
		frames += *rx.Frames
		if *rx.Lost != 0 || *rx.Duplicate != 0 || *rx.Reordered != 0 || *rx.Late != 0 || *rx.Corrupt != 0 || *rx.BadSeq != 0 {
			t.Errorf("stream %d: %s", i, show(rx))
		}
	}
	if frames != n {
		t.Errorf("%d arrived of %d", frames, n)
	}
}

func show(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// built is the program, made once.
var built struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// program builds the program and returns its path, which every user may run.
func program(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "wirespeed-acceptance-"); built.err != nil {
			return
		}
		if built.err = os.Chmod(built.dir, 0o755); built.err != nil {
			return
		}
		built.path = filepath.Join(built.dir, "wirespeed")
		cmd := exec.Command("go", "build", "-o", built.path, "github.com/wirespeed/wirespeed/cmd/wirespeed")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// process is the built program, running.
type process struct {
	*exec.Cmd
	args []string
	out  bytes.Buffer
	errs bytes.Buffer
	done chan struct{}
}

// startProgram starts the built program; it is killed when the test ends. uid 0: as the test.
func startProgram(t testing.TB, uid uint32, args ...string) *process {
	t.Helper()
	return startReading(t, nil, uid, args...)
}

// startReading is startProgram with a standard input.
func startReading(t testing.TB, stdin io.Reader, uid uint32, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(program(t), args...), args: args, done: make(chan struct{})}
	p.Stdin, p.Stdout, p.Stderr = stdin, &p.out, &p.errs
	p.Dir = "/"
	p.SysProcAttr = &syscall.SysProcAttr{}
	if uid != 0 {
		p.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: uid}
		p.Env = []string{"PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + userState(t, uid)}
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.Wait(); close(p.done) }()
	t.Cleanup(func() { _ = p.Process.Kill(); <-p.done })
	return p
}

// userState is a directory that a user may write to.
func userState(t testing.TB, uid uint32) string {
	t.Helper()
	program(t)
	dir := filepath.Join(built.dir, fmt.Sprint("state-", uid))
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = os.Chown(dir, int(uid), int(uid))
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	return dir
}

func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatalf("%v to wirespeed %s: %v\n%s%s", s, strings.Join(p.args, " "), err, p.out.String(), p.errs.String())
	}
}

func (p *process) wait(t testing.TB) *result {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("wirespeed %s has not ended after %v", strings.Join(p.args, " "), patience)
	}
	if p.ProcessState.ExitCode() < 0 {
		return &result{exit: p.ProcessState.ExitCode(), stdout: p.out.String(), stderr: p.errs.String()}
	}
	return finish(t, p.args, p.ProcessState.ExitCode(), p.out.String(), p.errs.String())
}

func (p *process) ended() bool { return closed(p.done) }

func (s *started) ended() bool { return closed(s.done) }

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// eventually waits until f holds.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after %v: %s", patience, what)
		}
	}
}
