// Command vulncheck fails when the code of this repository reaches a known
// vulnerability in a dependency or in the standard library.
//
// It runs govulncheck (pinned in tools/go.mod) against the Go vulnerability
// database of a pinned revision (tools/vulndb.version), which arrives as a Go
// module like every dependency does. So the verdict on a commit stays the same
// until somebody moves the pin (`make vulndb`), and no other service is asked.
//
// A finding that is understood and accepted stands in tools/vulncheck.allow as
// "GO-2026-1234 reason". An entry without a reason, and one that no longer
// matches a finding, is a failure too. Development tooling: outside the tiers,
// calls the go command only.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	databaseModule = "golang.org/x/vulndb"
	versionFile    = "tools/vulndb.version"
	allowFile      = "tools/vulncheck.allow"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "vulncheck:", err)
		os.Exit(1)
	}
}

// run expects the root of the repository as working directory.
func run() error {
	allowText, err := os.ReadFile(allowFile)
	if err != nil {
		return err
	}
	allowed, err := parseAllowed(string(allowText))
	if err != nil {
		return fmt.Errorf("%s: %w", allowFile, err)
	}
	database, version, err := downloadDatabase()
	if err != nil {
		return err
	}
	stream, err := scan(database)
	if err != nil {
		return err
	}
	reached, err := parseFindings(bytes.NewReader(stream))
	if err != nil {
		return fmt.Errorf("reading govulncheck's answer: %w", err)
	}
	if problems := judge(reached, allowed); len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n\n"))
	}
	fmt.Printf("vulncheck: nothing reachable in %s@%s; %d accepted\n", databaseModule, version, len(allowed))
	return nil
}

// downloadDatabase returns the folder of OSV records and the pinned version.
func downloadDatabase() (folder, version string, err error) {
	pin, err := os.ReadFile(versionFile)
	if err != nil {
		return "", "", err
	}
	version = strings.TrimSpace(string(pin))
	out, err := output(exec.Command("go", "mod", "download", "-json", databaseModule+"@"+version))
	if err != nil {
		return "", "", err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", "", fmt.Errorf("go mod download: %w", err)
	}
	return filepath.Join(module.Dir, "data", "osv"), version, nil
}

func scan(database string) ([]byte, error) {
	return output(exec.Command("go", "tool", "-modfile=tools/go.mod", "govulncheck",
		"-format", "json", "-db", "file://"+filepath.ToSlash(database), "./..."))
}

// output is exec.Cmd.Output with the command's own words in the error.
func output(command *exec.Cmd) ([]byte, error) {
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, said.String())
	}
	return out, nil
}
