package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/transport/live"
	"github.com/loam-agents/loam/wire"
)

// Event streams follow the HTML standard's text/event-stream. A durable event has its seq as id, so that a browser resumes by
// itself with Last-Event-ID.
const (
	// beat is how often a comment keeps an idle stream from being taken for a dead one.
	beat = 15 * time.Second
	// writeTimeout bounds one event to one client.
	writeTimeout = 30 * time.Second
)

// The reasons with which a stream ends.
const (
	endShutdown = "shutdown"
	endRevoked  = "revoked"
	endExpired  = "expired"
	endTooSlow  = "too_slow"
	endDeleted  = "deleted"
)

// event is one kind of event of a stream, for the document.
type event struct {
	name, summary string
	// data is the zero value of what stands in it.
	data any
}

// CaughtUp says that everything of the past was sent. LastSeq is that of the last event of a session.
type CaughtUp struct {
	LastSeq int64 `json:"lastSeq"`
}

// Done says that a session has nothing to do any more. Status is idle or error.
type Done struct {
	Status  string `json:"status"`
	LastSeq int64  `json:"lastSeq"`
}

// End says why the server closes the stream: shutdown, revoked, expired, too_slow, or deleted, when what was followed is no more.
// After shutdown and too_slow a client connects again with the id of its last event.
type End struct {
	Reason string `json:"reason"`
}

// streamFields are the fields of a stream of a session.
type streamFields struct {
	SessionID string `json:"sessionId"`
	AfterSeq  *int64 `json:"afterSeq,omitempty"`
}

// runStreamFields are those of a stream of a tree of runs.
type runStreamFields struct {
	RunID    string `json:"runId"`
	AfterSeq *int64 `json:"afterSeq,omitempty"`
}

func (s *Server) streamEndpoints() []endpoint {
	common := []event{{"caught_up", "the past was sent", CaughtUp{}}, {"end", "the server closes the stream", End{}}}
	stream := func(id, path, summary string, request any, key func(r *http.Request, who caller) string, events ...event) endpoint {
		return endpoint{
			Route: operation.Route{Method: http.MethodGet, Path: path, Summary: summary, Request: request}, id: id, scope: "read",
			events: append(events, common...),
			handle: func(w http.ResponseWriter, r *http.Request, who caller) error {
				return s.stream(w, r, who, key(r, who))
			},
		}
	}
	return []endpoint{
		stream("StreamSession", "/sessions/{sessionId}/stream", "Follow a session", streamFields{},
			func(r *http.Request, _ caller) string { return wire.KeySession + r.PathValue("sessionId") },
			event{"event", "a durable event; its id is its seq", wire.SessionEvent{}},
			event{"partial", "a piece of an answer in progress", wire.Frame{}},
			event{"session", "the session, at first and when it changed", wire.SessionInfo{}},
			event{"done", "the session has nothing to do any more", Done{}}),
		stream("StreamRun", "/runs/{runId}/stream", "Follow the tree of a run", runStreamFields{},
			func(r *http.Request, _ caller) string { return wire.KeyRun + r.PathValue("runId") },
			event{"run", "a run of the tree, at first and when it changed", wire.RunInfo{}},
			event{"journal", "an entry of a run's journal; afterSeq counts in each journal", wire.RunJournalEntry{}}),
		stream("StreamAccount", "/stream", "Follow what changes in the account", nil,
			func(_ *http.Request, who caller) string { return wire.KeyAccount + who.Account },
			event{"hint", "something changed", wire.AccountHint{}}, event{"run", "a run changed", wire.RunInfo{}}),
	}
}

// stream follows a key until the client goes away, the credential ends or the server stops.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, who caller, key string) error {
	after, err := resumeAfter(r)
	if err != nil {
		return err
	}
	admitted, err := s.opts.Operations.Admit(r.Context(), who.Caller, key)
	if err != nil {
		return err
	}
	give, err := s.quota.enter(who.Account)
	if err != nil {
		return err
	}
	defer give()
	f := &follower{server: s, conn: http.NewResponseController(w), w: w, on: admitted, stop: make(chan struct{})}
	f.feed = live.NewFeed(s.opts.Operations, s.opts.Bus, f)
	defer f.feed.Close()
	leave, ok := s.streams.Add(func() { f.end(endShutdown) })
	if !ok {
		return fault.New(fault.Unavailable, "The server is stopping: try again soon")
	}
	defer leave()
	snapshot, err := f.feed.Join(r.Context(), admitted)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", mediaEvents)
	// Proxies that collect answers would hold events back.
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	err = f.follow(r.Context(), snapshot, after, s.expiry(who.credential))
	if err != nil && r.Context().Err() == nil {
		s.opts.Logger.DebugContext(r.Context(), "stream ended", "key", key, "error", err)
	}
	return nil
}

// expiry fires when a credential ends; nil when it does not.
func (s *Server) expiry(c operation.Credential) <-chan time.Time {
	if c.ExpiresAt == 0 {
		return nil
	}
	return s.opts.Clock.After(time.UnixMilli(c.ExpiresAt).Sub(s.opts.Clock.Now()))
}

// resumeAfter is the seq that the client holds. What a browser adds by itself is newer than what its page asked for.
func resumeAfter(r *http.Request) (int64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("afterSeq")
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fault.Invalid("%s", wire.MsgAfterSeq).With("field", "afterSeq")
	}
	return operation.AfterSeq(&n)
}

// follower is one stream. One goroutine writes.
type follower struct {
	server *Server
	conn   *http.ResponseController
	w      http.ResponseWriter
	feed   *live.Feed
	on     operation.Subscription

	stop    chan struct{}
	closing sync.Once
	reason  string
	// active says that something of a turn was sent since the last done.
	active bool
}

// end has the writer close the stream; the first reason wins.
func (f *follower) end(reason string) {
	f.closing.Do(func() {
		f.reason = reason
		close(f.stop)
	})
}

func (f *follower) follow(ctx context.Context, snapshot []wire.Frame, after int64, expired <-chan time.Time) error {
	defer func() { _ = f.conn.SetWriteDeadline(time.Time{}) }()
	err := f.begin(ctx, snapshot, after)
	next, compare := f.server.opts.Clock.After(beat), f.server.opts.Clock.After(live.CompareEvery)
	for err == nil {
		select {
		case <-f.stop:
			return f.send("end", "", End{Reason: f.reason})
		default:
		}
		if err = f.conn.Flush(); err != nil {
			break
		}
		select {
		case <-f.feed.Ready():
			err = f.feed.Flush(ctx)
		case <-next:
			next = f.server.opts.Clock.After(beat)
			err = f.write([]byte(":\n\n"))
		case <-compare:
			compare = f.server.opts.Clock.After(live.CompareEvery)
			err = f.feed.Compare(ctx)
		case <-expired:
			f.end(endExpired)
		case <-f.stop:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	switch {
	case errors.Is(err, bus.ErrTooSlow):
		return f.send("end", "", End{Reason: endTooSlow})
	case errors.Is(err, live.ErrRevoked):
		return f.send("end", "", End{Reason: endRevoked})
	}
	return err
}

// begin sends the state and what the client does not have.
func (f *follower) begin(ctx context.Context, snapshot []wire.Frame, after int64) error {
	for i := range snapshot {
		if err := f.Frame(ctx, &snapshot[i]); err != nil {
			return err
		}
	}
	working := f.active
	if err := f.feed.Replay(ctx, f.on, after); err != nil {
		return err
	}
	// What was replayed is the past: only a turn that goes on will be done.
	f.active = working
	return f.send("caught_up", "", CaughtUp{LastSeq: f.feed.Sent(f.on.Key)})
}

// Message implements live.Sink.
func (f *follower) Message(ctx context.Context, m *bus.Message) error {
	if m.Partial() {
		f.active = true
		return f.event("partial", "", m.JSON())
	}
	return f.Frame(ctx, &m.Frame)
}

// Frame implements live.Sink.
func (f *follower) Frame(_ context.Context, frame *wire.Frame) error {
	if frame.Event != nil {
		f.active = true
		return f.send("event", strconv.FormatInt(frame.Event.Seq, 10), frame.Event)
	}
	if frame.Entry != nil {
		// It has no id: the seqs of the runs of a tree are not those of one stream.
		return f.send("journal", "", wire.RunJournalEntry{RunID: frame.RunID, Seq: frame.Seq, Entry: frame.Entry, CreatedAt: frame.CreatedAt})
	}
	switch value := frame.Value.(type) {
	case wire.SessionInfo:
		return f.session(&value)
	case wire.RunInfo:
		return f.send("run", "", value)
	case wire.AccountHint:
		return f.send("hint", "", value)
	}
	return nil
}

// Gone implements live.Sink.
func (f *follower) Gone(context.Context, string) error {
	f.end(endDeleted)
	return nil
}

// Ended implements live.Sink.
func (f *follower) Ended(context.Context, string) error { return live.ErrRevoked }

// session sends a session's state, and that it is done when it was at work before.
func (f *follower) session(info *wire.SessionInfo) error {
	if err := f.send("session", "", info); err != nil {
		return err
	}
	if info.Status == sessionlog.StatusStreaming {
		f.active = true
		return nil
	}
	if !f.active {
		return nil
	}
	f.active = false
	return f.send("done", "", Done{Status: info.Status, LastSeq: f.feed.Sent(f.on.Key)})
}

// send writes an event with a value as its data, and hands it to the client.
func (f *follower) send(name, id string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	return f.event(name, id, data)
}

func (f *follower) event(name, id string, data []byte) error {
	var out bytes.Buffer
	if id != "" {
		out.WriteString("id: " + id + "\n")
	}
	out.WriteString("event: " + name + "\ndata: ")
	// JSON has no line ends, which would end the data.
	out.Write(data)
	out.WriteString("\n\n")
	f.server.sent.Add(1)
	return f.write(out.Bytes())
}

func (f *follower) write(b []byte) error {
	// A recorder in a test has no deadlines.
	_ = f.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := f.w.Write(b)
	return err
}

// Streams returns how many event streams are open, and how many events were sent on all of them so far.
func (s *Server) Streams() (open int, sent int64) { return s.streams.Len(), s.sent.Load() }

// Close ends the streams and what carries them, and waits until they have ended or ctx does.
func (s *Server) Close(ctx context.Context) {
	s.streams.Close(ctx)
	s.tunnels.Close(ctx)
}
