package signed_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// keyOf is a key made of one byte.
func keyOf(t *testing.T, fill byte) *principal.Key {
	t.Helper()
	k, err := principal.NewKey(bytes.Repeat([]byte{fill}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestALinkedKeyActsAsTheOwnersAccount(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		cfg.Accounts = "invite"
		h := servertest.Start(t, cfg)
		desktop := keyOf(t, 7)
		agents := func(c *client.Client) (int, error) {
			out, err := client.Call[wire.ListAgentsResponse](t.Context(), c, "ListAgents", nil)
			return len(out.Agents), err
		}
		itself := h.As(desktop)
		named, err := client.New(h.URL, desktop, client.WithAccount(h.Key.ID()))
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]*client.Client{"as itself": itself, "as the owner": named} {
			if _, err := agents(c); err == nil {
				t.Fatalf("a stranger %s is served", name)
			}
		}
		servertest.Call[wire.KeyResponse](h, "LinkKey", map[string]any{"key": desktop.ID().String(), "name": "desktop"})
		session := h.Session(servertest.Call[wire.ListAgentsResponse](h, "ListAgents", nil).Agents[0].ID)
		ended := make(chan client.Frame, 4096)
		for name, c := range map[string]*client.Client{"as itself": itself, "as the owner": named} {
			if n, err := agents(c); n != 1 || err != nil {
				t.Errorf("%s it sees %d agents, %v", name, n, err)
			}
			me, err := client.Call[wire.CallerInfo](t.Context(), c, "GetCaller", nil)
			if err != nil || me.Account != h.Key.ID().String() || me.Signer != desktop.ID().String() || !me.Owner {
				t.Errorf("%s it is %+v, %v", name, me, err)
			}
		}
		// It follows the account under the name that it knows, and what it writes says who signed.
		account := wire.KeyAccount + desktop.ID().String()
		stands := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for f, err := range itself.Subscribe(t.Context(), account, 0) {
				if err != nil {
					return
				}
				if f.Kind == wire.FrameSubscribed {
					close(stands)
				}
				if f.Kind == wire.FrameChange && f.Key == account {
					ended <- f
					return
				}
			}
		}()
		<-stands
		if _, err := client.Call[wire.MessageSessionResponse](t.Context(), itself, "MessageSession", map[string]any{
			"sessionId": session, "content": []any{map[string]any{"type": "text", "text": "hi"}},
		}); err != nil {
			t.Fatal(err)
		}
		<-done
		if len(ended) != 1 {
			t.Error("no hint came under the client's own account")
		}
		var first struct{ Meta wire.EventMeta }
		log := servertest.Call[wire.GetSessionResponse](h, "GetSession", map[string]any{"sessionId": session})
		if err := json.Unmarshal(log.Events[0].Event, &first); err != nil || first.Meta.SignerID != desktop.ID().String() || first.Meta.AccountID != h.Key.ID().String() {
			t.Errorf("the message is from %+v, %v", first.Meta, err)
		}
		servertest.Call[wire.KeyRequest](h, "UnlinkKey", map[string]any{"keyId": desktop.ID().String()})
		for name, c := range map[string]*client.Client{"as itself": itself, "as the owner": named} {
			if _, err := agents(c); err == nil {
				t.Errorf("%s it is still served", name)
			}
		}
	})
}

func TestASocketEndsWhenItsKeyIsTakenOut(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		desktop := keyOf(t, 7)
		servertest.Call[wire.KeyResponse](h, "LinkKey", map[string]any{"key": desktop.ID().String(), "name": "desktop"})
		lost := make(chan string, 16)
		c, err := client.New(h.URL, desktop, client.WithOnDisconnect(func(_ string, err error, _ time.Duration) { lost <- err.Error() }))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		stands := make(chan struct{})
		go func() {
			defer close(done)
			subscribed := 0
			for f, err := range c.Subscribe(t.Context(), wire.KeyAccount+desktop.ID().String(), 0) {
				if err != nil {
					return
				}
				if f.Kind == wire.FrameSubscribed {
					if subscribed++; subscribed == 2 {
						return
					}
					close(stands)
				}
			}
		}()
		<-stands
		servertest.Call[wire.KeyRequest](h, "UnlinkKey", map[string]any{"keyId": desktop.ID().String()})
		if reason := <-lost; !bytes.Contains([]byte(reason), []byte("taken out")) {
			t.Errorf("the socket ended with %q", reason)
		}
		<-done
	})
}

func TestOnlyTheOwnerLinksAndNobodyLinksTwice(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		stranger, desktop := keyOf(t, 5), keyOf(t, 7)
		link := func(c *client.Client, key string) int {
			_, err := client.Call[wire.KeyResponse](t.Context(), c, "LinkKey", map[string]any{"key": key, "name": "x"})
			return statusOf(err)
		}
		if got := link(h.As(stranger), h.Key.ID().String()); got != http.StatusForbidden {
			t.Errorf("a stranger who links the owner's key is answered %d: it would get what the owner writes", got)
		}
		if got := link(h.Client, h.Key.ID().String()); got != http.StatusBadRequest {
			t.Errorf("the owner who links itself is answered %d", got)
		}
		for range 2 {
			if got := link(h.Client, desktop.ID().String()); got != http.StatusOK {
				t.Errorf("the owner who links a key is answered %d", got)
			}
		}
		if keys := servertest.Call[wire.ListKeysResponse](h, "ListKeys", nil).Keys; len(keys) != 1 {
			t.Errorf("linked are %+v", keys)
		}
	})
}

// statusOf is the status of a refusal.
func statusOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return refused.Status
	}
	return 0
}
