package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/loam-agents/loam/wire"
)

// The kinds of frames that only a subscription with a token delivers, with their data in Value.
const (
	// FrameCaughtUp follows when everything of the past was delivered: {lastSeq}.
	FrameCaughtUp = "caughtUp"
	// FrameDone says that a session has nothing to do any more: {status, lastSeq}.
	FrameDone = "done"
)

// silence is how long an event stream may say nothing, beats included, before it counts as dead. Servers beat every 15 s.
const silence = 45 * time.Second

// events serves one event stream from the request to its end. It returns the reason of the end, never nil.
func (s *subscription) events(ctx context.Context) error {
	path, err := streamPath(s.key)
	if err != nil {
		return permanentError{err}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.client.base+restBase+path, nil)
	if err != nil {
		return permanentError{fmt.Errorf("client: %w", err)}
	}
	s.client.authorize(req)
	req.Header.Set("Accept", "text/event-stream")
	if s.afterSeq > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(s.afterSeq, 10))
	}
	resp, err := s.client.http.Do(req)
	if err != nil {
		return fmt.Errorf("client: connect: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return s.notStreaming(resp)
	}
	now := s.client.clock.Now().UnixMilli()
	for _, f := range []Frame{{Kind: wire.FrameConnected, ConnectedAt: now}, {Kind: wire.FrameSubscribed, Key: s.key}} {
		if !s.deliver(f) {
			return errStopped
		}
	}
	dead := time.AfterFunc(silence, cancel)
	defer dead.Stop()
	in := &eventReader{lines: bufio.NewReaderSize(resp.Body, 32<<10), limit: s.client.maxResponse, alive: func() { dead.Reset(silence) }}
	for {
		event, err := in.next()
		if err != nil {
			return fmt.Errorf("client: the stream ended: %w", err)
		}
		if err := s.event(event); err != nil {
			return err
		}
	}
}

// notStreaming is the reason of an answer that is no stream: what passes by itself is tried again.
func (s *subscription) notStreaming(resp *http.Response) error {
	body, err := s.client.bounded(resp.Body)
	if err != nil {
		return err
	}
	err = problem(resp.StatusCode, body)
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout {
		return err
	}
	return permanentError{err}
}

// streamPath is where a key is followed.
func streamPath(key string) (string, error) {
	for prefix, path := range map[string]string{wire.KeySession: "/sessions/{id}/stream", wire.KeyRun: "/runs/{id}/stream"} {
		if id, ok := strings.CutPrefix(key, prefix); ok {
			return fill(path, map[string]any{"id": id})
		}
	}
	if strings.HasPrefix(key, wire.KeyAccount) {
		return "/stream", nil
	}
	return "", fmt.Errorf("client: %q cannot be followed with a token: sessions, runs and the account can", key)
}

// event delivers what an event says as a frame.
func (s *subscription) event(e streamEvent) error {
	f := Frame{Key: s.key, Value: e.data}
	switch e.name {
	case "event":
		var err error
		if f, err = ParseFrame(fmt.Appendf(nil, `{"_":%q,"key":%q,"event":%s}`, wire.FrameAppend, s.key, e.data)); err != nil {
			return nil // as on a socket: what cannot be read must not end the stream
		}
	case "journal":
		var err error
		entry := fmt.Appendf(nil, `{"_":%q,"key":%q,`, wire.FrameAppend, s.key)
		if f, err = ParseFrame(append(entry, bytes.TrimPrefix(e.data, []byte("{"))...)); err != nil {
			return nil
		}
	case "partial":
		var err error
		if f, err = ParseFrame(e.data); err != nil {
			return nil
		}
	case "session", "run", "hint":
		f.Kind = wire.FrameChange
		f.Key = s.changed(e)
	case "caught_up":
		f.Kind = FrameCaughtUp
	case "done":
		f.Kind = FrameDone
	case "end":
		return ended(e.data)
	default:
		f.Kind = e.name
	}
	if !s.deliver(f) {
		return errStopped
	}
	return nil
}

// changed is the key of what a change is about: runs of an account's stream have their own.
func (s *subscription) changed(e streamEvent) string {
	var run struct{ ID string }
	if e.name == "run" && json.Unmarshal(e.data, &run) == nil && run.ID != "" {
		return wire.KeyRun + run.ID
	}
	return s.key
}

// ended tells whether a stream that the server has closed is worth another connection.
func ended(data []byte) error {
	var end struct{ Reason string }
	_ = json.Unmarshal(data, &end) // an end without a reason is one that passes
	switch end.Reason {
	case "revoked", "expired":
		return permanentError{&Error{Status: http.StatusUnauthorized, Message: "The token does not work any more: it is " + end.Reason, Code: "unauthenticated"}}
	case "deleted":
		return permanentError{&Error{Status: http.StatusNotFound, Message: "What was followed has been deleted", Code: "not_found"}}
	}
	return fmt.Errorf("client: the server closed the stream: %s", end.Reason)
}

// streamEvent is one event of a stream.
type streamEvent struct {
	name string
	data []byte
}

// eventReader splits a stream into events.
type eventReader struct {
	lines *bufio.Reader
	limit int64
	// alive is called for every line.
	alive func()
}

var errLongEvent = errors.New("an event is larger than the largest answer that is read")

func (r *eventReader) next() (streamEvent, error) {
	var e streamEvent
	for {
		line, err := r.line()
		if err != nil {
			return e, err
		}
		r.alive()
		if len(line) == 0 {
			if e.data != nil {
				return e, nil
			}
			e = streamEvent{}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.name = string(value)
		case "data":
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
			if int64(len(e.data)) > r.limit {
				return e, errLongEvent
			}
		}
	}
}

// line reads one line without its end.
func (r *eventReader) line() ([]byte, error) {
	var out []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		out = append(out, part...)
		if int64(len(out)) > r.limit {
			return nil, errLongEvent
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimRight(out, "\r\n"), err
	}
}
