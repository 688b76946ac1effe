package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is one element of the stream of `go test -json` (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// summary turns events into lines and counts.
type summary struct {
	out     io.Writer
	verbose bool
	// output collects what a test or, under an empty test name, a package said.
	output                    map[testName]*strings.Builder
	packages, passed, skipped int
	failedPackages, failed    int
	// failures are the failed tests and what they said, to be shown once more at the end, where a reader of a long log looks first.
	failures []string
}

// shownOfFailure is how many bytes of what a failed test said are repeated at the end, counted from its end.
const shownOfFailure = 4 << 10

type testName struct{ pkg, test string }

func newSummary(out io.Writer, verbose bool) *summary {
	return &summary{out: out, verbose: verbose, output: map[testName]*strings.Builder{}}
}

// read consumes the stream to its end.
func (s *summary) read(stream io.Reader) error {
	decoder := json.NewDecoder(stream)
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		s.handle(e)
	}
}

func (s *summary) handle(e event) {
	name := testName{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "output":
		if s.output[name] == nil {
			s.output[name] = &strings.Builder{}
		}
		s.output[name].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.packageDone(e, name)
		} else {
			s.testDone(e, name)
		}
		delete(s.output, name)
	}
}

// testDone counts a test or subtest and shows it when it failed or was skipped.
func (s *summary) testDone(e event, name testName) {
	text := ""
	if said := s.output[name]; said != nil {
		text = withoutProgress(said.String())
	}
	switch e.Action {
	case "pass":
		s.passed++
		if s.verbose {
			fmt.Fprintf(s.out, "--- PASS: %s (%.2fs)\n", e.Test, e.Elapsed)
		}
	case "fail":
		s.failed++
		fmt.Fprint(s.out, text)
		s.failures = append(s.failures, fmt.Sprintf("%s %s\n%s", e.Package, e.Test, tail(text)))
	case "skip":
		s.skipped++
		fmt.Fprint(s.out, text)
	}
}

// tail is the end of a text, from the beginning of a line.
func tail(text string) string {
	if len(text) <= shownOfFailure {
		return text
	}
	text = text[len(text)-shownOfFailure:]
	return "…\n" + text[strings.IndexByte(text, '\n')+1:]
}

// withoutProgress drops the lines that only say when a test started and paused.
func withoutProgress(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "=== ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// packageDone shows the last line go test wrote about the package, or all it
// said outside of tests when the package failed (a panic, a failed TestMain).
func (s *summary) packageDone(e event, name testName) {
	said := s.output[name]
	if said == nil {
		return
	}
	lines := strings.SplitAfter(strings.TrimRight(said.String(), "\n"), "\n")
	if e.Action == "skip" {
		// A package without tests.
		return
	}
	s.packages++
	if e.Action == "fail" {
		s.failedPackages++
		fmt.Fprintln(s.out, strings.Join(lines, ""))
		s.showUnfinished(e.Package)
		return
	}
	fmt.Fprintln(s.out, lines[len(lines)-1])
}

// showUnfinished gives the output of tests that a panic or a timeout cut off.
func (s *summary) showUnfinished(pkg string) {
	for name, said := range s.output {
		if name.pkg == pkg && name.test != "" {
			fmt.Fprint(s.out, withoutProgress(said.String()))
			delete(s.output, name)
		}
	}
}

// close writes the count and decides. runErr is how the go command ended.
func (s *summary) close(runErr error) error {
	for _, failure := range s.failures {
		fmt.Fprintln(s.out, "failed: "+failure)
	}
	fmt.Fprintf(s.out, "%d tests passed, %d failed, %d skipped in %d packages\n", s.passed, s.failed, s.skipped, s.packages)
	switch {
	case s.failed > 0 || s.failedPackages > 0:
		return fmt.Errorf("%d tests failed in %d packages", s.failed, s.failedPackages)
	case runErr != nil:
		return fmt.Errorf("go test: %w", runErr)
	case s.skipped > 0:
		return fmt.Errorf("%d tests were skipped: nothing may be skipped, say what is missing instead", s.skipped)
	case s.passed == 0:
		return errors.New("no test ran")
	default:
		return nil
	}
}
