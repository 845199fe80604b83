package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
)

const events = `
{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"pass","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestTable/two","Output":"    a_test.go:9: two is wrong\n"}
{"Action":"pass","Package":"m/a","Test":"TestTable/one"}
{"Action":"fail","Package":"m/a","Test":"TestTable/two"}
{"Action":"fail","Package":"m/a","Test":"TestTable"}
{"Action":"output","Package":"m/a","Output":"FAIL\n"}
{"Action":"output","Package":"m/a","Output":"FAIL\tm/a\t0.1s\n"}
{"Action":"fail","Package":"m/a"}
{"Action":"output","Package":"m/b","Test":"TestRoot","Output":"    b_test.go:7: needs root\n"}
{"Action":"output","Package":"m/b","Test":"TestRoot","Output":"--- SKIP: TestRoot (0.00s)\n"}
{"Action":"skip","Package":"m/b","Test":"TestRoot"}
{"Action":"output","Package":"m/b","Output":"ok  \tm/b\t0.2s\n"}
{"Action":"pass","Package":"m/b"}
{"Action":"build-output","ImportPath":"m/c","Output":"c/c.go:3: undefined: x\n"}
{"Action":"build-fail","ImportPath":"m/c"}
{"Action":"fail","Package":"m/c"}
{"Action":"output","Package":"m/d","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"m/d"}
not json
`

func TestTallyCountsEveryTestOnce(t *testing.T) {
	var got tally
	var out bytes.Buffer
	if err := got.read(strings.NewReader(strings.TrimSpace(events)), &out); err != nil {
		t.Fatal(err)
	}
	if got.passed != 2 {
		t.Errorf("passed %d, want 2", got.passed)
	}
	if want := []string{"a.TestTable/two", "m/c", "m/d"}; !slices.Equal(got.failed, want) {
		t.Errorf("failed %q, want %q", got.failed, want)
	}
	if want := []string{"b.TestRoot: needs root"}; !slices.Equal(got.skipped, want) {
		t.Errorf("skipped %q, want %q", got.skipped, want)
	}
	for _, want := range []string{"two is wrong", "FAIL\tm/a", "ok  \tm/b", "undefined: x", "timed out", "not json"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &out)
		}
	}
}

func TestSkipFailsOnlyInCI(t *testing.T) {
	for _, ci := range []bool{false, true} {
		var out bytes.Buffer
		r := runner{ctx: context.Background(), out: &out, ci: ci}
		r.tally = tally{passed: 3, skipped: []string{"b.TestRoot: needs root"}}
		status := r.close()
		want, last := 0, "3 passed, 0 failed\n"
		if ci {
			want, last = 1, "3 passed, 1 failed\n"
		}
		if status != want || !strings.HasSuffix(out.String(), last) {
			t.Errorf("CI %v: status %d, output:\n%s", ci, status, &out)
		}
	}
}

func TestNothingPassedIsAFailure(t *testing.T) {
	r := runner{ctx: context.Background(), out: &bytes.Buffer{}}
	if r.close() == 0 {
		t.Error("status 0 without a single test")
	}
}
