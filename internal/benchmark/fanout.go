package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/wire"
)

const (
	subscribers = 500
	beat        = 50 * time.Millisecond
	beats       = 120
	maxDelay    = 100 * time.Millisecond
)

// fanOut measures how late deltas reach many subscribers of one session. Model and subscribers are in this process, so the
// delay is that of one clock: from the model's write to the subscriber's decoded frame. Once all read, and once another one
// subscribes to a long log and reads nothing of it.
func (b *bench) fanOut() error {
	name := fmt.Sprintf("%d subscribers of one session at %d deltas a second", subscribers, time.Second/beat)
	for _, kind := range []struct {
		name string
		log  int
	}{{name, 0}, {name + ", and one that does not read", 2000}} {
		w, err := b.open(deltas())
		if err != nil {
			return err
		}
		delays, cpu, err := b.fanOutOf(w, kind.log)
		if err := errors.Join(err, w.close()); err != nil {
			return err
		}
		if err := b.addDelays(kind.name, subscribers, delays, cpu); err != nil {
			return err
		}
	}
	return nil
}

// addDelays reports how late the deltas were that came to readers.
func (b *bench) addDelays(name string, readers int, delays []time.Duration, cpu time.Duration) error {
	if want := readers * beats; len(delays) != want {
		return fmt.Errorf("%s: %d of %d deltas arrived", name, len(delays), want)
	}
	b.report.add(headingStream, judge(name+": delay, 99 of 100", quantile(delays, 0.99), maxDelay, millis, ""))
	b.report.add(headingStream, row{what: name + ": delay, median", value: millis(quantile(delays, 0.5))})
	perFrame := cpu / time.Duration(len(delays))
	b.report.add(headingStream, row{what: name + ": CPU of the server a frame", value: fmt.Sprintf("%.1f µs", float64(perFrame)/1e3)})
	return nil
}

// fanOutOf has a session with so many events beat once. With a log, somebody subscribes to all of it and does not read.
func (b *bench) fanOutOf(w *world, log int) ([]time.Duration, time.Duration, error) {
	url, stop, err := serveBeats()
	if err != nil {
		return nil, 0, err
	}
	defer stop()
	agent, err := w.newAgent("beat", url+"/v1")
	if err != nil {
		return nil, 0, err
	}
	session, err := w.session(agent)
	if err == nil && log > 0 {
		if session, err = w.fill(w.agent, log); err == nil {
			err = w.override(session, "beat")
		}
	}
	if err != nil {
		return nil, 0, err
	}
	if log > 0 {
		conn, err := w.stall(session)
		if err != nil {
			return nil, 0, err
		}
		defer func() { _ = conn.CloseNow() }()
	}
	return b.beatAt(w, slices.Repeat([]string{session}, subscribers), []string{session}, int64(log))
}

// beatAt has a reader follow each session of a list from a seq on, sends a message to others, and returns how late the deltas of
// the answers came.
func (b *bench) beatAt(w *world, read, write []string, after int64) ([]time.Duration, time.Duration, error) {
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	all := make([][]time.Duration, len(read))
	var work, ready sync.WaitGroup
	ready.Add(len(read))
	for i, session := range read {
		work.Go(func() { all[i] = listen(ctx, w.Client, session, after, ready.Done) })
	}
	ready.Wait()
	before, err := w.process.Cost(ctx)
	if err != nil {
		return nil, 0, err
	}
	sent := make(chan error, len(write))
	for _, session := range write {
		go func() { sent <- w.send(session, "go") }()
	}
	for range write {
		err = errors.Join(err, <-sent)
	}
	if err != nil {
		return nil, 0, err
	}
	work.Wait()
	spent, err := w.process.Cost(ctx)
	return slices.Concat(all...), spent.CPU - before.CPU, err
}

// override has a session answered by the model of another provider.
func (w *world) override(session, provider string) error {
	_, err := client.Call[wire.SessionResponse](w.ctx, w.Client, "UpdateSession", map[string]any{
		"sessionId": session, "modelOverride": map[string]any{"provider": provider, "model": "scripted-1"},
	})
	return err
}

// stall subscribes to all of a session and reads nothing. Its window is small, so that the server cannot get rid of what it sends.
func (w *world) stall(session string) (*websocket.Conn, error) {
	dialer := net.Dialer{}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			err = tcp.SetReadBuffer(4 << 10)
		}
		return conn, err
	}}
	conn, _, err := websocket.Dial(w.ctx, w.process.URL()+wire.SocketPath, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		return nil, err
	}
	body, err := wire.Sign(w.key, w.key.ID(), map[string]any{"_": wire.SubscribeAction, "key": wire.KeySession + session},
		wire.SignOptions{TS: time.Now().UnixMilli(), Protocol: wire.ProtocolNumber})
	if err == nil {
		err = conn.Write(w.ctx, websocket.MessageBinary, body)
	}
	return conn, err
}

// listen follows the session from a seq to the end of the next turn and returns how late each delta came.
func listen(ctx context.Context, c *client.Client, session string, after int64, ready func()) []time.Duration {
	var delays []time.Duration
	for f, err := range c.Subscribe(ctx, wire.KeySession+session, after) {
		switch {
		case err != nil:
			return nil
		case f.Kind == wire.FrameSubscribed:
			ready()
		case f.Kind == wire.FrameAppend && f.Seq == after+2:
			return delays
		case f.Kind == wire.FrameAppendPartial:
			var p wire.PartialPatch
			if json.Unmarshal(f.Patch, &p) != nil {
				return nil
			}
			// A consumer that was late gets several deltas in one frame, each as late as it is.
			for stamp := range strings.FieldsSeq(p.TextDelta) {
				sent, _ := strconv.ParseInt(stamp, 10, 64) // a text that is no stamp shows as a huge delay
				delays = append(delays, time.Since(time.Unix(0, sent)))
			}
		}
	}
	return nil
}

// serveBeats is a model of the OpenAI Chat dialect whose deltas are the time at which each is sent.
func serveBeats() (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: http.HandlerFunc(answerBeats), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }()
	return "http://" + l.Addr().String(), func() { _ = srv.Close() }, nil
}

func answerBeats(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for range beats {
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d \"}}]}\n\n", time.Now().UnixNano())
		_ = http.NewResponseController(w).Flush()
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}
