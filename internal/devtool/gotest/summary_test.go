package main

import (
	"errors"
	"strings"
	"testing"
)

// The streams are what `go test -json` of Go 1.27 writes, shortened.
const (
	passing = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestX"}
{"Action":"output","Package":"m/a","Test":"TestX","Output":"    a_test.go:5: noise\n"}
{"Action":"pass","Package":"m/a","Test":"TestX","Elapsed":0.25}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t0.251s\n"}
{"Action":"pass","Package":"m/a","Elapsed":0.251}
`
	failing = `{"Action":"output","Package":"m/b","Test":"TestY","Output":"=== RUN   TestY\n"}
{"Action":"output","Package":"m/b","Test":"TestY","Output":"    b_test.go:7: got 1, want 2\n"}
{"Action":"output","Package":"m/b","Test":"TestY","Output":"--- FAIL: TestY (0.00s)\n"}
{"Action":"fail","Package":"m/b","Test":"TestY","Elapsed":0}
{"Action":"output","Package":"m/b","Output":"FAIL\tm/b\t0.002s\n"}
{"Action":"fail","Package":"m/b","Elapsed":0.002}
`
	skipping = `{"Action":"output","Package":"m/c","Test":"TestZ","Output":"    c_test.go:9: no database\n"}
{"Action":"skip","Package":"m/c","Test":"TestZ","Elapsed":0}
{"Action":"output","Package":"m/c","Output":"ok  \tm/c\t0.002s\n"}
{"Action":"pass","Package":"m/c","Elapsed":0.002}
`
	cutOff = `{"Action":"output","Package":"m/d","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"output","Package":"m/d","Output":"FAIL\tm/d\t600.002s\n"}
{"Action":"fail","Package":"m/d","Elapsed":600.002}
`
	unbuilt = `{"ImportPath":"m/e","Action":"build-output","Output":"e.go:3: undefined: x\n"}
{"ImportPath":"m/e","Action":"build-fail"}
{"Action":"output","Package":"m/e","Output":"FAIL\tm/e [build failed]\n"}
{"Action":"fail","Package":"m/e","Elapsed":0,"FailedBuild":"m/e"}
`
	untested = `{"Action":"output","Package":"m/f","Output":"?   \tm/f\t[no test files]\n"}
{"Action":"skip","Package":"m/f","Elapsed":0}
`
)

// long fails after it has said much.
var long = `{"Action":"output","Package":"m/g","Test":"TestLong","Output":"` + strings.Repeat(`much\n`, shownOfFailure) + `"}
{"Action":"fail","Package":"m/g","Test":"TestLong","Elapsed":0}
`

func TestWhatARunSaysAndHowItEnds(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, stream   string
		verbose        bool
		shows, hides   []string
		fails          string
		commandsReport error
	}{
		{name: "a passing package is one line", stream: passing + untested,
			shows: []string{"ok  \tm/a\t0.251s\n1 tests passed, 0 failed, 0 skipped in 1 packages\n"}, hides: []string{"noise", "PASS"}},
		{name: "verbose names every test", stream: passing, verbose: true, shows: []string{"--- PASS: TestX (0.25s)\n"}, hides: []string{"noise"}},
		{name: "a failure shows its output", stream: passing + failing, shows: []string{"got 1, want 2\n--- FAIL: TestY", "FAIL\tm/b"}, hides: []string{"=== RUN"}, fails: "1 tests failed in 1 packages"},
		{name: "a failure is told again at the end, the end of what it said", stream: long + passing,
			shows: []string{"\n1 tests passed, 1 failed", "failed: m/g TestLong\n…\n"}, fails: "1 tests failed"},
		{name: "a skipped test is a failure", stream: passing + skipping, shows: []string{"no database"}, fails: "1 tests were skipped"},
		{name: "a test that was cut off shows its output", stream: cutOff, shows: []string{"test timed out"}, fails: "0 tests failed in 1 packages"},
		{name: "a package that does not build is a failure", stream: passing + unbuilt, shows: []string{"undefined: x", "[build failed]"}, fails: "0 tests failed in 1 packages"},
		{name: "no test at all is a failure", stream: untested, fails: "no test ran"},
		{name: "an error of the go command is a failure", stream: passing, commandsReport: errors.New("exit status 2"), fails: "go test: exit status 2"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			sum := newSummary(&out, test.verbose)
			if err := sum.read(strings.NewReader(test.stream)); err != nil {
				t.Fatal(err)
			}
			err := sum.close(test.commandsReport)
			if test.fails == "" && err != nil || test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)) {
				t.Errorf("the run ends with %v, want %q", err, test.fails)
			}
			for _, part := range test.shows {
				if !strings.Contains(out.String(), part) {
					t.Errorf("output lacks %q:\n%s", part, out.String())
				}
			}
			for _, part := range test.hides {
				if strings.Contains(out.String(), part) {
					t.Errorf("output contains %q:\n%s", part, out.String())
				}
			}
		})
	}
}

func TestAStreamThatIsNotEventsIsAnError(t *testing.T) {
	t.Parallel()
	if err := newSummary(&strings.Builder{}, false).read(strings.NewReader("not json")); err == nil {
		t.Error("a broken stream passes")
	}
}
