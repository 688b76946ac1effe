package signed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// restless is a client that follows a session, drops its connection at random and resumes after the last event that it has.
type restless struct {
	t       *testing.T
	h       *servertest.Harness
	random  *rand.Rand
	http    *http.Client
	session string
	// last is the seq of the newest event, and ids are all that came.
	last int64
	ids  []string
	// connections counts how often it connected.
	connections int
}

// follow reads until it has `total` events.
func (r *restless) follow(total int64) error {
	for r.last < total {
		if err := r.connect(total); err != nil {
			return fmt.Errorf("connection %d, after seq %d: %w", r.connections, r.last, err)
		}
	}
	return nil
}

// connect follows on one connection, as long as chance has it.
func (r *restless) connect(total int64) error {
	r.connections++
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	offer := [][]string{nil, {wire.StreamJSON}, {wire.StreamCBOR}}[r.random.IntN(3)]
	conn, _, err := websocket.Dial(ctx, strings.Replace(r.h.URL, "http", "ws", 1)+wire.SocketPath,
		&websocket.DialOptions{HTTPClient: r.http, Subprotocols: offer})
	if err != nil {
		return err
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 20)
	if err := r.subscribe(ctx, conn); err != nil {
		return err
	}
	for frames := 1 + r.random.IntN(25); frames > 0 && r.last < total; frames-- {
		if _, err := r.read(ctx, conn); err != nil {
			return err
		}
		if offer != nil && r.random.IntN(20) == 0 {
			if err := r.again(ctx, conn); err != nil {
				return err
			}
		}
	}
	if r.random.IntN(2) == 0 {
		return conn.Close(websocket.StatusNormalClosure, "")
	}
	return nil
}

func (r *restless) subscribe(ctx context.Context, conn *websocket.Conn) error {
	action := map[string]any{"_": "Subscribe", "key": "sessions/" + r.session, "attempt": r.connections, "nonce": int64(r.random.Uint32())}
	if r.last > 0 {
		action["afterSeq"] = r.last
	}
	return conn.Write(ctx, websocket.MessageBinary, sign(r.t, r.h.Key, action))
}

// again gives the subscription up and, when what was on its way has come, takes it anew on the same socket.
func (r *restless) again(ctx context.Context, conn *websocket.Conn) error {
	text := `{"_":"Unsubscribe","key":"sessions/` + r.session + `"}`
	if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		return err
	}
	for kind := ""; kind != wire.FrameUnsubscribed; {
		var err error
		if kind, err = r.read(ctx, conn); err != nil {
			return err
		}
	}
	return r.subscribe(ctx, conn)
}

// read takes a frame and returns its kind. An event has to be the one after the last.
func (r *restless) read(ctx context.Context, conn *websocket.Conn) (string, error) {
	_, data, err := conn.Read(ctx)
	if err != nil {
		return "", err
	}
	decode := json.Unmarshal
	if conn.Subprotocol() == wire.StreamCBOR {
		decode = dagcbor.Unmarshal
	}
	var f struct {
		Kind    string `json:"_"`
		Message string `json:"message"`
		Event   *struct {
			ID  string `json:"id"`
			Seq int64  `json:"seq"`
		} `json:"event"`
	}
	switch err := decode(data, &f); {
	case err != nil:
		return "", fmt.Errorf("%w: %q", err, data)
	case f.Kind == wire.FrameError:
		return "", fmt.Errorf("the server says %s", f.Message)
	case f.Event == nil:
		return f.Kind, nil
	case f.Event.Seq != r.last+1:
		return "", fmt.Errorf("event %d came after %d", f.Event.Seq, r.last)
	}
	r.last, r.ids = f.Event.Seq, append(r.ids, f.Event.ID)
	return f.Kind, nil
}

// TestTwoHundredRestlessClientsGetEveryEventOnce is the soak: clients that connect, drop and resume at random, while several people
// write, get every durable event exactly once and in order. What chance does is settled by the seed.
func TestTwoHundredRestlessClientsGetEveryEventOnce(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		const sessions, messages, seed = 4, 15, 20261130
		clients := 200
		if cfg.DatabaseURL != "" {
			// What the databases do differently shows with fewer.
			clients = 40
		}
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "One "}, {Text: "moment."}, {Gate: "never"}}})
		agent := h.Agent(m)
		var all []string
		var writers, readers sync.WaitGroup
		for range sessions {
			session := h.Session(agent)
			all = append(all, session)
			frames := h.Watch("sessions/"+session, 0)
			writers.Go(func() { _, _ = h.Send(session, "first") })
			// What the others say must not become the turn that answers.
			servertest.Until(t, frames, func(f client.Frame) bool { return f.Kind == wire.FrameAppend })
		}
		var connections atomic.Int64
		got := make([][]string, clients)
		for i := range clients {
			readers.Go(func() {
				transport := &http.Transport{}
				defer transport.CloseIdleConnections()
				r := &restless{
					t: t, h: h, random: rand.New(rand.NewPCG(seed, uint64(i))), http: &http.Client{Transport: transport}, session: all[i%sessions],
				}
				if err := r.follow(messages + 1); err != nil {
					t.Errorf("client %d of seed %d: %v", i, seed, err)
				}
				got[i] = r.ids
				connections.Add(int64(r.connections))
			})
		}
		for _, session := range all {
			writers.Go(func() {
				for i := range messages {
					// Its turn waits behind the first one, so that the answer comes when the message is durable.
					if _, err := h.Send(session, fmt.Sprint("message ", i)); err != nil {
						t.Errorf("message %d: %v", i, err)
					}
				}
			})
		}
		readers.Wait()
		for _, session := range all {
			servertest.Call[wire.StopSessionResponse](h, "StopSession", map[string]any{"sessionId": session})
		}
		writers.Wait()
		for i, ids := range got {
			events := servertest.Call[wire.GetSessionResponse](h, "GetSession", map[string]any{"sessionId": all[i%sessions]}).Events
			for j, id := range ids {
				if events[j].ID != id {
					t.Errorf("client %d: event %d is another one than in the log", i, j+1)
				}
			}
		}
		t.Logf("%d clients made %d connections", clients, connections.Load())
	})
}
