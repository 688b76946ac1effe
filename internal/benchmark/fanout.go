package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

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
// delay is that of one clock: from the model's write to the subscriber's decoded frame.
func (b *bench) fanOut() error {
	w, err := b.open(deltas())
	if err != nil {
		return err
	}
	delays, cpu, err := b.fanOutOf(w)
	if err := errors.Join(err, w.close()); err != nil {
		return err
	}
	if want := subscribers * beats; len(delays) != want {
		return fmt.Errorf("%d of %d deltas arrived", len(delays), want)
	}
	name := fmt.Sprintf("%d subscribers of one session at %d deltas a second", subscribers, time.Second/beat)
	b.report.add(headingStream, judge(name+": delay, 99 of 100", quantile(delays, 0.99), maxDelay, millis, ""))
	b.report.add(headingStream, row{what: name + ": delay, median", value: millis(quantile(delays, 0.5))})
	perFrame := cpu / time.Duration(len(delays))
	b.report.add(headingStream, row{what: name + ": CPU of the server a frame", value: fmt.Sprintf("%.1f µs", float64(perFrame)/1e3)})
	return nil
}

func (b *bench) fanOutOf(w *world) ([]time.Duration, time.Duration, error) {
	url, stop, err := serveBeats()
	if err != nil {
		return nil, 0, err
	}
	defer stop()
	agent, err := w.newAgent("beat", url)
	if err != nil {
		return nil, 0, err
	}
	session, err := w.session(agent)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	all := make([][]time.Duration, subscribers)
	var work, ready sync.WaitGroup
	ready.Add(subscribers)
	for i := range all {
		work.Go(func() { all[i] = listen(ctx, w.Client, session, ready.Done) })
	}
	ready.Wait()
	before, err := w.process.Cost(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := w.send(session, "go"); err != nil {
		return nil, 0, err
	}
	work.Wait()
	after, err := w.process.Cost(ctx)
	var delays []time.Duration
	for _, d := range all {
		delays = append(delays, d...)
	}
	return delays, after.CPU - before.CPU, err
}

// listen follows the session to the end of the turn and returns how late each delta came.
func listen(ctx context.Context, c *client.Client, session string, ready func()) []time.Duration {
	var delays []time.Duration
	for f, err := range c.Subscribe(ctx, wire.KeySession+session, 0) {
		switch {
		case err != nil:
			return nil
		case f.Kind == wire.FrameSubscribed:
			ready()
		case f.Kind == wire.FrameAppend && f.Seq == 2:
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
	return "http://" + l.Addr().String() + "/v1", func() { _ = srv.Close() }, nil
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
