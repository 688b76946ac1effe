// Command loamd is the server as crash tests and benchmarks run it: the composition root in a process of its own, with a
// switch that kills it at a named point and a second listener that tells what it costs.
//
// It prints one line, "listening URL DEBUG-URL", once it serves. It ends cleanly on SIGTERM, and at once when its standard
// input closes, so that no process outlives the test that started it. It is test support and never released.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/loam-agents/loam/internal/crashtest/process"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/server"
)

func main() {
	if slices.Equal(os.Args[1:], []string{script.Argument}) {
		// The server translates scripts in a process of its own program.
		os.Exit(script.Main(os.Stdin, os.Stdout))
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "loamd:", err)
		os.Exit(1)
	}
}

func run() error {
	var cfg server.Config
	flag.StringVar(&cfg.DataDir, "data", "", "data directory")
	flag.StringVar(&cfg.DatabaseURL, "database", "", "PostgreSQL URL; SQLite when empty")
	flag.StringVar(&cfg.CrashAt, "crash-at", "", "kill this process at a named point")
	flag.DurationVar(&cfg.DrainTimeout, "drain", 0, "wait for turns in progress")
	flag.IntVar(&cfg.Workers, "workers", 0, "runs that execute at once")
	flag.Parse()
	var err error
	if cfg.Executable, err = os.Executable(); err != nil {
		return err
	}
	cfg.Listen = "127.0.0.1:0"
	cfg.TutorPace = -1
	cfg.Environ = func(string) string { return "" }
	// Nothing listens there, so that a first start never meets a model of this machine.
	cfg.ProviderURLs = map[string]string{"ollama": "http://127.0.0.1:1"}
	cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := server.Open(ctx, cfg)
	if err != nil {
		return err
	}
	debug, err := serveDebug(s)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	fmt.Printf("listening http://%s %s\n", s.Addr(), debug)
	return s.Serve(ctx)
}

// serveDebug answers what the process has cost so far, and profiles. It ends with the process.
func serveDebug(s *server.Server) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /cost", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(cost(s))
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }()
	return "http://" + l.Addr().String(), nil
}

func cost(s *server.Server) process.Cost {
	stats := s.StoreStats()
	c := process.Cost{Commits: stats.Commits, Writes: stats.Writes, Retries: stats.Retries}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err == nil {
		c.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	c.Resident = resident()
	return c
}

// resident is the memory this process holds in bytes, 0 where the system does not tell.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
