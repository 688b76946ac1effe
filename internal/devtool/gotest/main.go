// Command gotest runs `go test` and says at the end how much was tested.
//
//	go run ./internal/devtool/gotest [-v] [go test flags and packages …]
//
// It shows go test's own lines: the result of every package, the output of what
// failed, and with -v one line for every test. It fails when a test fails, when
// a package does not build, and when a test was skipped: what a machine lacks
// has to be named before, and a suite that runs less than it says proves less.
// Development tooling: outside the tiers, calls the go command only.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
)

func main() {
	args := os.Args[1:]
	verbose := slices.Contains(args, "-v")
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "-v" })
	if err := run(verbose, args); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

func run(verbose bool, args []string) error {
	test := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	test.Stderr = os.Stderr
	events, err := test.StdoutPipe()
	if err != nil {
		return err
	}
	if err := test.Start(); err != nil {
		return err
	}
	sum := newSummary(os.Stdout, verbose)
	readErr := sum.read(events)
	runErr := test.Wait()
	if readErr != nil {
		return fmt.Errorf("reading what go test says: %w", readErr)
	}
	return sum.close(runErr)
}
