// Command pgserver starts a PostgreSQL server, runs a command with its URL in LOAM_TEST_POSTGRES_URL, and ends the server
// when the command has ended:
//
//	go run ./internal/pgtest/pgserver -- go test ./...
//
// It exits with the status of the command. It is for tests only.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/loam-agents/loam/internal/pgtest"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: pgserver -- command [argument ...]")
		os.Exit(2)
	}
	code, err := run(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgserver:", err)
	}
	os.Exit(code)
}

func run(args []string) (code int, err error) {
	server, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	fmt.Fprintln(os.Stderr, pgtest.URLVariable+"="+server.URL())

	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), pgtest.URLVariable+"="+server.URL())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// An interrupt at the terminal reaches the command as well; this process waits for it to end.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			// The command may have ended already.
			_ = cmd.Process.Signal(s)
		case err := <-ended:
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				return max(exit.ExitCode(), 1), nil
			}
			return 0, err
		}
	}
}
