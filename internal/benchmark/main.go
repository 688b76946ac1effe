// Command benchmark measures what a turn of the real server costs, and writes the numbers into docs/benchmarks.md, which says
// how they are made.
//
// The server runs in a process of its own, without cgo or race detector; this process plays the model, the clients, and the
// probes that the numbers are compared with. Nothing is asserted: a missed goal is printed as missed. The program is for
// developers and no part of the product; `make bench` runs it, in about four minutes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/loam-agents/loam/internal/crashtest/process"
)

// limit bounds the whole run.
const limit = 5 * time.Minute

func main() {
	write := flag.String("write", "", "document whose numbers are replaced; only print when empty")
	frames := flag.String("probe-frames", "", "serve the lines of this file as bare frames (internal)")
	spawn := flag.Bool("probe-spawn", false, "print a line and wait for the end of standard input (internal)")
	profile := flag.String("profile", "", "write a CPU profile of the server to this file, and do nothing else; under turns of 20 deltas, or -only \"turns with calls\"")
	only := flag.String("only", "", "run the probes and the one measurement of this name; only print")
	flag.Parse()
	var err error
	switch {
	case *spawn:
		err = answerSpawn()
	case *frames != "":
		err = serveFrames(*frames)
	default:
		err = measure(*write, *profile, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchmark:", err)
		os.Exit(1)
	}
}

// measure runs every measurement in order.
func measure(document, profile, only string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	dir, err := os.MkdirTemp("", "loam-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program, err := process.Build(ctx, dir)
	if err != nil {
		return err
	}
	b := &bench{ctx: ctx, dir: dir, program: program, report: newReport()}
	if profile != "" {
		return b.profile(profile, only == "turns with calls")
	}
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"probes", b.probes}, {"start and memory", b.starts}, {"payload", b.payload}, {"turns", b.turns}, {"turns with calls", b.calls},
		{"replay", b.replays}, {"fan-out", b.fanOut}, {"streams", b.streams}, {"envelopes", b.envelopes}, {"growth", b.growth}, {"growth with tools", b.growTools},
	} {
		if only != "" && step.name != only && step.name != "probes" {
			continue
		}
		begun := time.Now()
		if err := step.run(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %.1f s\n", step.name, time.Since(begun).Seconds())
	}
	fmt.Print(b.report)
	if document == "" || only != "" {
		return nil
	}
	return b.report.insert(document)
}
