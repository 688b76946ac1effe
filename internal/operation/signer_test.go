package operation_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// capability lets a key act for the harness's account.
func capability(t *testing.T, issuer *principal.Key, c principal.Capability) ([]byte, string) {
	t.Helper()
	if c.TS == 0 {
		c.TS = time.Now().UnixMilli()
	}
	if c.Role == "" {
		c.Role = principal.RoleAgent
	}
	raw, err := principal.NewCapability(issuer, c)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := principal.ParseCapability(raw)
	if err != nil {
		t.Fatal(err)
	}
	return raw, parsed.CID.String()
}

// delegated posts an action that a key signs for an account, with what the envelope says of its capability.
func delegated(t *testing.T, h *servertest.Harness, key *principal.Key, account principal.ID, name string, request object, cid string, blob []byte) (object, int) {
	t.Helper()
	action := object{"_": name}
	for k, v := range request {
		action[k] = v
	}
	body, err := wire.Sign(key, account, action, wire.SignOptions{
		TS: time.Now().UnixMilli(), Protocol: wire.ProtocolNumber, Capability: cid, CapabilityBlob: blob,
	})
	if err != nil {
		t.Fatal(err)
	}
	status, raw := post(t, h.URL, body)
	var out object
	if err := dagcbor.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out, status
}

func TestADelegateActsForItsAccountUntilItIsRevoked(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		cfg.Accounts = "invite"
		h := servertest.Start(t, cfg)
		device, account := newKey(t, 21), h.Key.ID()
		if out, status := delegated(t, h, device, account, "ListAgents", nil, "", nil); status != 401 || out["message"] != "Signer is not authorized for account" {
			t.Fatalf("without a capability: %d %v", status, out)
		}
		blob, cid := capability(t, h.Key, principal.Capability{Delegate: device.ID(), Label: "web"})
		if out, status := delegated(t, h, device, account, "ListAgents", nil, cid, blob); status != 200 || len(out["agents"].([]any)) != 1 {
			t.Fatalf("with the capability: %d %v", status, out)
		}
		// From now on it is known.
		session := h.Session(servertest.Call[wire.ListAgentsResponse](h, "ListAgents", nil).Agents[0].ID)
		said := object{"sessionId": session, "content": []any{object{"type": "text", "text": "hello"}}}
		if out, status := delegated(t, h, device, account, "MessageSession", said, "", nil); status != 200 {
			t.Fatalf("a message of the delegate: %d %v", status, out)
		}
		var message struct{ Meta wire.EventMeta }
		if err := json.Unmarshal(servertest.Call[wire.GetSessionResponse](h, "GetSession", object{"sessionId": session}).Events[0].Event, &message); err != nil {
			t.Fatal(err)
		}
		meta := message.Meta
		if meta.AccountID != account.String() || meta.SignerID != device.ID().String() {
			t.Errorf("its message is stamped %+v", meta)
		}
		for name, request := range map[string]object{
			"SetSecret": {"name": "x", "value": []byte("v")}, "ListSecrets": nil, "CreateToken": {"name": "t", "scopes": []string{"read"}},
			"ListSigners": nil, "RevokeSigner": {"signerId": device.ID().String()}, "LinkKey": {"key": device.ID().String(), "name": "x"},
			"ListKeys": nil, "CreateSignInLink": nil, "ListSignIns": nil, "ListPasskeys": nil,
		} {
			if out, status := delegated(t, h, device, account, name, request, "", nil); status != 403 || !strings.Contains(out["message"].(string), "delegated key") {
				t.Errorf("%s of a delegate: %d %v", name, status, out)
			}
		}
		provider := object{"name": "p", "provider": object{"type": "tutor"}}
		if out, status := delegated(t, h, device, account, "SetModelProvider", provider, "", nil); status != 200 {
			t.Errorf("a provider of the delegate: %d %v", status, out)
		}
		listed := servertest.Call[wire.ListSignersResponse](h, "ListSigners", nil).Signers
		if len(listed) != 1 || listed[0].SignerID != device.ID().String() || listed[0].Role != "AGENT" || listed[0].Label != "web" || listed[0].Capability != cid {
			t.Errorf("listed %+v", listed)
		}
		ended := follows(t, h, device, account, "sessions/"+session)
		must(t, h.Client, "RevokeSigner", object{"signerId": device.ID().String()})
		if err := <-ended; err == nil {
			t.Error("its socket stays open")
		}
		for _, proof := range [][]byte{nil, blob} {
			named := ""
			if proof != nil {
				named = cid
			}
			if out, status := delegated(t, h, device, account, "ListAgents", nil, named, proof); status != 401 || out["message"] != "Signer is not authorized for account" {
				t.Errorf("after the revocation: %d %v", status, out)
			}
		}
		blob, cid = capability(t, h.Key, principal.Capability{Delegate: device.ID(), TS: time.Now().Add(time.Minute).UnixMilli()})
		if out, status := delegated(t, h, device, account, "ListAgents", nil, cid, blob); status != 200 {
			t.Errorf("with a newer capability: %d %v", status, out)
		}
	})
}

// follows watches a key for an account and returns, once it is subscribed, with what the end of the stream will say.
func follows(t *testing.T, h *servertest.Harness, key *principal.Key, account principal.ID, topic string) <-chan error {
	t.Helper()
	c, err := client.New(h.URL, key, client.WithAccount(account))
	if err != nil {
		t.Fatal(err)
	}
	stands, ended := make(chan struct{}), make(chan error, 1)
	subscribed := sync.OnceFunc(func() { close(stands) })
	go func() {
		defer subscribed()
		for f, err := range c.Subscribe(t.Context(), topic, 0) {
			switch {
			case err != nil:
				ended <- err
				return
			case f.Kind == wire.FrameError:
				// The client came back and was refused.
				ended <- errors.New(f.Message)
				return
			case f.Kind == wire.FrameSubscribed:
				subscribed()
			}
		}
		ended <- nil
	}()
	<-stands
	return ended
}

func TestACapabilityThatProvesNothingIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	device, other, account := newKey(t, 22), newKey(t, 23), h.Key.ID()
	good, goodCID := capability(t, h.Key, principal.Capability{Delegate: device.ID()})
	theirs, theirsCID := capability(t, h.Key, principal.Capability{Delegate: other.ID()})
	weak, weakCID := capability(t, h.Key, principal.Capability{Delegate: device.ID(), Role: "READER"})
	foreign, foreignCID := capability(t, other, principal.Capability{Delegate: device.ID()})
	for text, c := range map[string]struct {
		cid  string
		blob []byte
	}{
		wire.MsgCapabilityCID:         {"Not a CID", good},
		wire.MsgCapabilityTooLarge:    {goodCID, make([]byte, principal.MaxCapabilitySize+1)},
		wire.MsgCapabilityCBOR:        {goodCID, []byte{0xff}},
		wire.MsgCapabilityMismatch:    {theirsCID, good},
		wire.MsgCapabilityDelegate:    {theirsCID, theirs},
		wire.MsgCapabilityRole:        {weakCID, weak},
		wire.MsgCapabilityIssuer:      {foreignCID, foreign},
		wire.MsgCapabilityUnavailable: {goodCID, nil},
	} {
		out, status := delegated(t, h, device, account, "ListAgents", nil, c.cid, c.blob)
		if status != 401 || out["message"] != text {
			t.Errorf("%d %v, want %q", status, out, text)
		}
	}
	if n := len(servertest.Call[wire.ListSignersResponse](h, "ListSigners", nil).Signers); n != 0 {
		t.Errorf("%d signers were recorded", n)
	}
}

func TestACapabilityIsFetchedByItsCID(t *testing.T) {
	t.Parallel()
	device, gone := newKey(t, 24), newKey(t, 25)
	blobs := map[string][]byte{}
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		blob, ok := blobs[r.URL.Path]
		switch {
		case strings.HasSuffix(r.URL.Path, "broken000000"):
			w.WriteHeader(http.StatusBadGateway)
		case !ok:
			http.NotFound(w, r)
		default:
			_, _ = w.Write(blob)
		}
	}))
	t.Cleanup(gateway.Close)
	h := servertest.Start(t, server.Config{IPFSServerURL: gateway.URL})
	blob, cid := capability(t, h.Key, principal.Capability{Delegate: device.ID()})
	_, missing := capability(t, h.Key, principal.Capability{Delegate: gone.ID()})
	blobs["/ipfs/"+cid] = blob
	if out, status := delegated(t, h, device, h.Key.ID(), "ListAgents", nil, cid, nil); status != 200 {
		t.Errorf("a capability that the gateway has: %d %v", status, out)
	}
	if out, status := delegated(t, h, gone, h.Key.ID(), "ListAgents", nil, missing, nil); status != 401 || out["message"] != wire.MsgCapabilityMissing(missing) {
		t.Errorf("one that it has not: %d %v", status, out)
	}
	if out, status := delegated(t, h, gone, h.Key.ID(), "ListAgents", nil, "broken000000", nil); status != 401 || out["message"] != wire.MsgCapabilityFetch("broken000000", "status 502") {
		t.Errorf("a gateway that fails: %d %v", status, out)
	}
}

func TestADelegateRegistersItselfWithItsCapability(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{Accounts: "invite"})
	device, other := newKey(t, 26), newKey(t, 27)
	blob, _ := capability(t, h.Key, principal.Capability{Delegate: device.ID(), Role: principal.RoleWriter})
	self, _ := capability(t, h.Key, principal.Capability{Delegate: h.Key.ID()})
	strange, _ := capability(t, other, principal.Capability{Delegate: device.ID()})
	for name, c := range map[string]struct {
		key    *principal.Key
		blob   any
		status int
		want   string
	}{
		"nothing":           {device, []byte{}, 400, wire.MsgCapabilityBytes},
		"garbage":           {device, []byte{0xff}, 400, wire.MsgCapabilityCBOR},
		"another's":         {other, blob, 400, wire.MsgCapabilityDelegate},
		"of the key itself": {h.Key, self, 400, wire.MsgCapabilitySelf},
		"of a stranger":     {device, strange, 403, "This server accepts invited accounts only; ask its owner to let " + other.ID().String() + " in"},
		"text, not bytes":   {device, "text", 400, "capability must be bytes, not text"},
	} {
		if _, status, text := act(t, h.As(c.key), "RegisterSigner", object{"capability": c.blob}); status != c.status || text != c.want {
			t.Errorf("%s: %d %q, want %d %q", name, status, text, c.status, c.want)
		}
	}
	out := must(t, h.As(device), "RegisterSigner", object{"capability": blob})
	if out["accountId"] != h.Key.ID().String() || out["signerId"] != device.ID().String() {
		t.Errorf("the answer is %v", out)
	}
	if out, status := delegated(t, h, device, h.Key.ID(), "ListAgents", nil, "", nil); status != 200 {
		t.Errorf("afterwards it is answered with %d %v", status, out)
	}
	if out, status := delegated(t, h, device, device.ID(), "ListAgents", nil, "", nil); status != 403 {
		t.Errorf("it has become an account of its own: %d %v", status, out)
	}
}
