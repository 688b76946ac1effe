package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/wire"
)

const headingStream = "The live stream"

// events is the length of the log that is replayed.
const events = 5000

// replays compares the replay of a long log with the same frames from a server that does nothing else.
func (b *bench) replays() error {
	w, err := b.open(deltas())
	if err != nil {
		return err
	}
	ours, frames, err := b.replayOurs(w)
	if err := errors.Join(err, w.close()); err != nil {
		return err
	}
	path := filepath.Join(b.dir, "frames")
	if err := os.WriteFile(path, []byte(strings.Join(frames, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	address, stop, err := child(b.ctx, "-probe-frames", path)
	if err != nil {
		return err
	}
	bare, err := b.replayTimes("http://"+address, func() ([]byte, error) { return []byte("go"), nil }, len(frames))
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	b.report.add("Probes", row{what: fmt.Sprintf("%d bare frames of %s together, median of %d", len(frames), megabytes(size(frames)), rounds), value: millis(bare)})
	b.report.add(headingStream, judge(fmt.Sprintf("replay of %d events, to bare frames", events), ratio(ours, bare), 1.5, times, ""))
	b.report.add(headingStream, row{what: fmt.Sprintf("replay of %d events, median of %d", events, rounds), value: millis(ours)})
	return nil
}

func size(frames []string) (n int64) {
	for _, f := range frames {
		n += int64(len(f))
	}
	return n
}

// replayOurs fills a session and reads its replay, once for the frames and then for the time.
func (b *bench) replayOurs(w *world) (time.Duration, []string, error) {
	session, err := w.fill(w.agent, events)
	if err != nil {
		return 0, nil, err
	}
	subscribe := func() ([]byte, error) {
		return wire.Sign(w.key, w.key.ID(), map[string]any{"_": wire.SubscribeAction, "key": wire.KeySession + session},
			wire.SignOptions{TS: time.Now().UnixMilli(), Protocol: wire.ProtocolNumber})
	}
	var frames []string
	last := fmt.Sprintf(`"seq":%d,`, events)
	_, err = b.readFrames(w.process.URL(), subscribe, func(f []byte) bool {
		frames = append(frames, string(f))
		return strings.Contains(string(f), last)
	})
	if err != nil {
		return 0, nil, err
	}
	took, err := b.replayTimes(w.process.URL(), subscribe, len(frames))
	return took, frames, err
}

// fill makes a session with exactly n events: many texts in one message are as many events.
func (w *world) fill(agent string, n int) (string, error) {
	session, err := w.session(agent)
	if err != nil {
		return "", err
	}
	for have := 0; have < n; {
		texts := make([]string, min(64, n-have-1))
		for i := range texts {
			texts[i] = fmt.Sprintf("line %d %s", have+i, strings.Repeat("of a message of ordinary length ", 4))
		}
		if left := n - have - len(texts) - 1; left == 1 {
			// An answer needs a message: leave room for both.
			texts = texts[1:]
		}
		if err := w.send(session, texts...); err != nil {
			return "", err
		}
		have += len(texts) + 1
	}
	return session, nil
}

// rounds is how often a replay is read.
const rounds = 15

func (b *bench) replayTimes(url string, first func() ([]byte, error), frames int) (time.Duration, error) {
	var took []time.Duration
	for range rounds {
		n := 0
		t, err := b.readFrames(url, first, func([]byte) bool { n++; return n == frames })
		if err != nil {
			return 0, err
		}
		took = append(took, t)
	}
	return quantile(took, 0.5), nil
}

// readFrames connects, sends one message, and reads frames until last says so. The time is from the message to then.
func (b *bench) readFrames(url string, first func() ([]byte, error), last func([]byte) bool) (time.Duration, error) {
	conn, err := dial(b.ctx, url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.CloseNow() }()
	message, err := first()
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := conn.Write(b.ctx, websocket.MessageBinary, message); err != nil {
		return 0, err
	}
	for {
		_, frame, err := conn.Read(b.ctx)
		if err != nil {
			return 0, err
		}
		if last(frame) {
			return time.Since(begun), nil
		}
	}
}

func dial(ctx context.Context, url string) (*websocket.Conn, error) {
	conn, _, err := websocket.Dial(ctx, url+wire.SocketPath, nil)
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(16 << 20)
	return conn, nil
}
