package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
)

// probes measure what the machine itself costs, in the folder and minute of the other measurements.
func (b *bench) probes() (err error) {
	if b.flush, err = probeFlush(b.dir); err != nil {
		return err
	}
	if b.spawn, err = probeSpawn(b.ctx); err != nil {
		return err
	}
	exchange, err := probeExchange(b.ctx)
	if err != nil {
		return err
	}
	b.report.add("Probes", row{what: "append of 4 KiB with fsync, median of 200", value: millis(b.flush)})
	b.report.add("Probes", row{what: "plain process until its first line, median of 20", value: millis(b.spawn)})
	b.report.add("Probes", row{what: "request of 8 KiB to the model and its answer with one call, without Loam, median of 200", value: millis(exchange)})
	return nil
}

// probeFlush appends a page and flushes it, as the log of the database does.
func probeFlush(dir string) (time.Duration, error) {
	f, err := os.Create(filepath.Join(dir, "flush"))
	if err != nil {
		return 0, err
	}
	page := make([]byte, 4096)
	var took []time.Duration
	for range 200 {
		begun := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, errors.Join(err, f.Close())
		}
		if err := f.Sync(); err != nil {
			return 0, errors.Join(err, f.Close())
		}
		took = append(took, time.Since(begun))
	}
	return quantile(took, 0.5), f.Close()
}

// probeExchange asks the scripted model as a turn with calls does, from a program that only reads the answer.
func probeExchange(ctx context.Context) (p50 time.Duration, err error) {
	m, err := scripted.New(scripted.Options{Discard: true, Script: scripted.Script{Turns: inSequence("write", memoryWrite)}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"%s"}]}`, strings.Repeat("words ", 8192/6))
	var took []time.Duration
	for range 200 {
		begun := time.Now()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.BaseURL(model.OpenAIChat)+"/chat/completions", strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return 0, errors.Join(err, res.Body.Close())
		}
		took = append(took, time.Since(begun))
		if err := res.Body.Close(); err != nil {
			return 0, err
		}
	}
	return quantile(took, 0.5), nil
}

// probeSpawn starts this program as a process that only prints a line.
func probeSpawn(ctx context.Context) (time.Duration, error) {
	var took []time.Duration
	for range 20 {
		begun := time.Now()
		line, stop, err := child(ctx, "-probe-spawn")
		if err != nil || line != "ready" {
			return 0, fmt.Errorf("plain process said %q: %w", line, err)
		}
		took = append(took, time.Since(begun))
		if err := stop(); err != nil {
			return 0, err
		}
	}
	return quantile(took, 0.5), nil
}

// child starts this program in another role and returns its first line. stop closes its input and waits for its end.
func child(ctx context.Context, args ...string) (line string, stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error { return errors.Join(in.Close(), cmd.Wait()) }
	if line, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		return "", nil, errors.Join(err, stop())
	}
	return strings.TrimSpace(line), stop, nil
}

// answerSpawn is the child of probeSpawn.
func answerSpawn() error {
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// serveFrames is a server that does nothing but send the lines of a file as frames to whoever sends it a message: the least
// that any server of these frames has to do.
func serveFrames(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		if _, _, err := conn.Read(r.Context()); err != nil {
			return
		}
		for _, line := range lines {
			if conn.Write(r.Context(), websocket.MessageText, []byte(line)) != nil {
				return
			}
		}
		_, _, _ = conn.Read(r.Context())
	}
	srv := &http.Server{Handler: http.HandlerFunc(handler), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }()
	fmt.Println(l.Addr())
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return srv.Close()
}
