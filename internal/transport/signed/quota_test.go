package signed_test

import (
	"testing"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/internal/account/quota"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// ask subscribes and returns the text of the refusal, empty when there is none.
func (s *socket) ask(k *principal.Key, key string) string {
	s.t.Helper()
	s.send(sign(s.t, k, map[string]any{"_": "Subscribe", "key": key}))
	for {
		switch f := s.next(); f["_"] {
		case "error":
			return f["message"].(string)
		case "subscribed":
			return ""
		}
	}
}

func TestAnAccountsSocketsAndSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{Limits: quota.Limits{Sockets: 2, Subscriptions: 3}, LimitOwner: true})
	agent := h.Agent(servertest.Scripted(t))
	account, keys := "account/"+h.Key.ID().String(), []string{"agents/" + agent}
	for range 3 {
		keys = append(keys, "sessions/"+h.Session(agent))
	}
	first, second, third := dial(t, h, wire.StreamJSON), dial(t, h), dial(t, h)
	const sockets, subscriptions = "Too many sockets are open of this account: at most 2", "Too many subscriptions of this account: at most 3"
	for i, step := range []struct {
		on   *socket
		key  string
		want string
	}{
		{first, keys[0], ""}, {second, keys[0], ""}, {third, keys[0], sockets},
		{first, keys[1], ""}, {first, keys[2], subscriptions},
		// A key that a socket holds is not counted again, and a socket that was refused may ask again.
		{first, keys[1], ""}, {third, keys[0], sockets}, {second, keys[3], subscriptions},
	} {
		if got := step.on.ask(h.Key, step.key); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	// Another account has its own.
	stranger := key(t, 4)
	if got := dial(t, h).ask(stranger, "account/"+stranger.ID().String()); got != "" {
		t.Errorf("another account: %s", got)
	}
	// What ends gives its place back: a key on a socket of stream 2, and a socket.
	if err := first.Write(t.Context(), websocket.MessageText, []byte(`{"_":"Unsubscribe","key":"`+keys[1]+`"}`)); err != nil {
		t.Fatal(err)
	}
	first.until(func(f map[string]any) bool { return f["_"] == "unsubscribed" })
	if got := first.ask(h.Key, account); got != "" {
		t.Errorf("after an unsubscribe: %s", got)
	}
	if err := second.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Fatal(err)
	}
	// The server notices in its own time.
	const patience = 10_000
	for tries := 0; third.ask(h.Key, keys[0]) != ""; tries++ {
		if tries == patience {
			t.Fatal("the place of a closed socket is not given back")
		}
	}
}
