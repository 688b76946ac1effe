package signed_test

import (
	"testing"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// FuzzSubscribe sends Subscribe actions with any fields: each is answered with subscribed or an error, and the socket stays.
func FuzzSubscribe(f *testing.F) {
	h := servertest.Start(f, server.Config{})
	agent := servertest.Call[wire.ListAgentsResponse](h, "ListAgents", nil).Agents[0].ID
	account := "account/" + h.Key.ID().String()
	conn := dial(f, h, wire.StreamCBOR).Conn
	for _, key := range []any{account, "agents/" + agent, "sessions/" + h.Session(agent), "runs/none", "sessions/", "/", "", nil, 5, []byte("x"), []any{account}, "account/\x00"} {
		for _, after := range []any{nil, 0, -1, 1.5, 1e300, int64(1) << 52, "1", true, []any{}, map[string]any{}} {
			raw, err := dagcbor.Marshal(map[string]any{"key": key, "afterSeq": after})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var fields map[string]any
		if dagcbor.Unmarshal(raw, &fields) != nil || fields == nil {
			return
		}
		s := &socket{conn, t}
		fields["_"] = wire.SubscribeAction
		delete(fields, "ts")
		body := sign(t, h.Key, fields)
		if len(body) > 200<<10 {
			return
		}
		s.send(body)
		s.until(func(f map[string]any) bool { return f["_"] == wire.FrameSubscribed || f["_"] == wire.FrameError })
		// The end of this replay and a key that is given up again come before the next answer.
		if key, ok := fields["key"].(string); ok {
			bare, err := dagcbor.Marshal(map[string]any{"_": wire.UnsubscribeAction, "key": key})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Write(t.Context(), websocket.MessageBinary, bare); err != nil {
				t.Fatal(err)
			}
			s.until(func(f map[string]any) bool { return f["_"] == wire.FrameUnsubscribed })
		}
	})
}
