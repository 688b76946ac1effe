package operation_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/hypermedia/hypermediatest"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// importIdentity makes the key of a fill byte an identity of the owner.
func importIdentity(t *testing.T, h *servertest.Harness, fill byte) wire.SigningIdentity {
	t.Helper()
	return servertest.Call[wire.SigningIdentityResponse](h, "ImportSigningIdentity", object{"seed": bytes.Repeat([]byte{fill}, 32)}).Identity
}

func identities(h *servertest.Harness) []wire.SigningIdentity {
	return servertest.Call[wire.ListSigningIdentitiesResponse](h, "ListSigningIdentities", nil).Identities
}

// kinds are the types of what a key has published, in order.
func kinds(t *testing.T, s *hypermediatest.Server, accountID string) string {
	t.Helper()
	id, err := principal.ParseID(accountID)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, b := range s.Blobs(id) {
		out = append(out, fmt.Sprint(b["type"]))
	}
	return strings.Join(out, " ")
}

func TestAnIdentityIsMadePublishedRenamedAndForgotten(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		network := hypermediatest.New(t)
		cfg.HMServerURL = network.URL
		h := servertest.Start(t, cfg)
		made := servertest.Call[wire.SigningIdentityResponse](h, "CreateSigningIdentity", object{"label": " Scribe "}).Identity
		if made.Label != "Scribe" || made.Name != "hm-account-"+made.AccountID[:16] || made.ServerURL != network.URL || made.Icon != "" || made.ID == "" || made.CreatedAt == 0 {
			t.Errorf("made: %+v", made)
		}
		if got := kinds(t, network, made.AccountID); got != "Change Change Ref Profile" {
			t.Errorf("published: %s", got)
		}
		id, _ := principal.ParseID(made.AccountID)
		blobs := network.Blobs(id)
		body := fmt.Sprint(blobs[1]["body"])
		if blobs[3]["name"] != "Scribe" || !strings.Contains(body, "This account belongs to an agent.") || !strings.Contains(body, "Scribe") {
			t.Errorf("published: %v", blobs)
		}
		unnamed := servertest.Call[wire.SigningIdentityResponse](h, "CreateSigningIdentity", nil).Identity
		if unnamed.Label != "Agent account "+unnamed.AccountID[:10] {
			t.Errorf("without a label it is called %q", unnamed.Label)
		}
		must(t, h.Client, "SetSecret", object{"name": "other", "value": []byte("v")})
		if list := identities(h); len(list) != 2 || list[0].ID != unnamed.ID || list[1] != made {
			t.Errorf("listed: %+v", list)
		}
		png := append([]byte("\x89PNG"), bytes.Repeat([]byte{1, 2, 3}, 100_000)...)
		named := servertest.Call[wire.SigningIdentityResponse](h, "UpdateSigningIdentity", object{
			"name": made.Name, "label": "Notary", "icon": object{"data": png, "mimeType": "image/png", "fileName": "n.png"},
		}).Identity
		icon := strings.TrimPrefix(named.Icon, "ipfs://")
		if named.Label != "Notary" || named.ID != made.ID || named.CreatedAt != made.CreatedAt || network.Block(icon) == nil {
			t.Errorf("renamed: %+v", named)
		}
		last := network.Blobs(id)[4]
		if last["type"] != "Profile" || last["name"] != "Notary" || last["avatar"] != named.Icon {
			t.Errorf("its profile: %v", last)
		}
		// A picture stays when only the name changes.
		if again := servertest.Call[wire.SigningIdentityResponse](h, "UpdateSigningIdentity", object{"name": made.Name, "label": "Clerk"}).Identity; again.Icon != named.Icon {
			t.Errorf("renamed once more: %+v", again)
		}
		must(t, h.Client, "DeleteSigningIdentity", object{"name": made.Name})
		if list := identities(h); len(list) != 1 || list[0].ID != unnamed.ID {
			t.Errorf("after forgetting one: %+v", list)
		}
		if kinds(t, network, made.AccountID) == "" {
			t.Error("what was published is gone")
		}
	})
}

func TestNothingIsStoredWhenNothingCouldBePublished(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		network := hypermediatest.New(t)
		cfg.HMServerURL = network.URL
		h := servertest.Start(t, cfg)
		kept := importIdentity(t, h, 53)
		network.Refuse("[unavailable] reindexing")
		want := "Failed to publish agent account to " + network.URL + ": HTTP 500 from PublishBlobs: [unavailable] reindexing"
		for name, request := range map[string]object{
			"CreateSigningIdentity": {"label": "x"}, "UpdateSigningIdentity": {"name": kept.Name, "label": "x"},
		} {
			if _, status, text := act(t, h.Client, name, request); status != 502 || text != want {
				t.Errorf("%s: %d %s", name, status, text)
			}
		}
		if list := identities(h); len(list) != 1 || list[0] != kept || network.Len() != 0 {
			t.Errorf("afterwards: %+v, %d blobs", list, network.Len())
		}
		network.Refuse("")
		must(t, h.Client, "UpdateSigningIdentity", object{"name": kept.Name, "label": "x"})
	})
}

func TestWithoutAHypermediaServerNothingIsPublished(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]server.Config{"none": {}, "nobody there": {HMServerURL: "http://127.0.0.1:1"}} {
		h := servertest.Start(t, cfg)
		if _, status, text := act(t, h.Client, "CreateSigningIdentity", nil); status != 502 || !strings.HasPrefix(text, "Failed to publish agent account") {
			t.Errorf("%s: %d %s", name, status, text)
		}
		if list := identities(h); len(list) != 0 {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

func TestTwoEqualRequestsMakeOneIdentity(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		network := hypermediatest.New(t)
		cfg.HMServerURL = network.URL
		h := servertest.Start(t, cfg)
		ids := make([]any, 6)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				out, status, text := act(t, h.Client, "CreateSigningIdentity", object{"label": "One", "clientRequestId": "r", "attempt": i})
				if status != 200 {
					t.Errorf("attempt %d: %d %s", i, status, text)
					return
				}
				ids[i] = out["identity"].(object)["accountId"]
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Errorf("the identities are %v", ids)
			}
		}
		if list := identities(h); len(list) != 1 || network.Len() != 4 {
			t.Errorf("%d identities, %d blobs", len(list), network.Len())
		}
		if _, status, text := act(t, h.Client, "CreateSigningIdentity", object{"label": "Two", "clientRequestId": "r"}); status != 409 || text != wire.MsgRequestIDMismatch {
			t.Errorf("another label: %d %s", status, text)
		}
		// The seed is not compared, since no record may hold it.
		first := must(t, h.Client, "ImportSigningIdentity", object{"seed": bytes.Repeat([]byte{1}, 32), "clientRequestId": "i"})
		again := must(t, h.Client, "ImportSigningIdentity", object{"seed": bytes.Repeat([]byte{2}, 32), "clientRequestId": "i"})
		if first["identity"].(object)["id"] != again["identity"].(object)["id"] || len(identities(h)) != 2 {
			t.Errorf("imported %v, then %v", first, again)
		}
	})
}

func TestIdentitiesAreRefusedWithTheirReason(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		network := hypermediatest.New(t)
		cfg.HMServerURL = network.URL
		h := servertest.Start(t, cfg)
		kept := importIdentity(t, h, 54)
		if kept.Label != "" || kept.ServerURL != "" || network.Len() != 0 {
			t.Errorf("imported: %+v, %d blobs", kept, network.Len())
		}
		long := strings.Repeat("x", 257)
		for _, c := range []struct {
			name    string
			request object
			status  int
			text    string
		}{
			{"ImportSigningIdentity", object{"seed": bytes.Repeat([]byte{54}, 32)}, 409, "This account key is already on the server (" + kept.AccountID + ")"},
			{"ImportSigningIdentity", object{"seed": make([]byte, 31)}, 400, "Key seed must be exactly 32 bytes"},
			{"ImportSigningIdentity", object{"seed": "text"}, 400, "Key seed must be exactly 32 bytes"},
			{"ImportSigningIdentity", nil, 400, "Key seed must be exactly 32 bytes"},
			{"ImportSigningIdentity", object{"seed": make([]byte, 32), "label": " "}, 400, "Label is required"},
			{"CreateSigningIdentity", object{"label": long}, 400, "Label is too large"},
			{"UpdateSigningIdentity", object{"name": "none", "label": "x"}, 404, "Signing identity not found"},
			{"UpdateSigningIdentity", object{"name": kept.Name}, 400, "Label is required"},
			{"UpdateSigningIdentity", object{"name": kept.Name, "label": "x", "icon": object{}}, 400, "Icon data is required"},
			{"UpdateSigningIdentity", object{"name": kept.Name, "label": "x", "icon": object{"data": []byte("x"), "mimeType": "text/html"}}, 400, "Icon must be an image, not text/html"},
			{"UpdateSigningIdentity", object{"name": kept.Name, "label": "x", "icon": object{"data": make([]byte, 4<<20+1)}}, 413, "Icon is too large: at most 4194304 bytes"},
			{"DeleteSigningIdentity", object{"name": "none"}, 404, "Signing identity not found"},
			{"CreateAgent", object{"definition": definition(object{"modelProvider": "tutor", "model": "tutor", "signingKey": "none"})}, 400, "Signing key not found"},
		} {
			if _, status, text := act(t, h.Client, c.name, c.request); status != c.status || text != c.text {
				t.Errorf("%s %.80v: %d %q, want %d %q", c.name, c.request, status, text, c.status, c.text)
			}
		}
		must(t, h.Client, "SetSecret", object{"name": "plain", "value": []byte("v")})
		if _, status, _ := act(t, h.Client, "DeleteSigningIdentity", object{"name": "plain"}); status != 404 {
			t.Errorf("an ordinary secret was taken for an identity: %d", status)
		}
	})
}

func TestCollaboratorsSeeTheIdentitiesOfTheAgentAlone(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		granted, private := importIdentity(t, h, 55), importIdentity(t, h, 56)
		signing := object{"modelProvider": "tutor", "model": "tutor", "signingKeys": []string{granted.Name}}
		agent := must(t, h.Client, "CreateAgent", object{"definition": definition(signing)})["agentId"].(string)
		key := newKey(t, 61)
		writer := h.As(key)
		must(t, h.Client, "InviteAgentCollaborator", object{"agentId": agent, "accountId": key.ID().String(), "role": "writer"})
		must(t, writer, "AcceptAgentInvite", object{"agentId": agent})
		list := must(t, writer, "ListSigningIdentities", object{"agentId": agent})["identities"].([]any)
		if len(list) != 1 || list[0].(object)["name"] != granted.Name {
			t.Errorf("the writer sees %v", list)
		}
		if list := must(t, writer, "ListSigningIdentities", nil)["identities"].([]any); len(list) != 0 {
			t.Errorf("the writer's own are %v", list)
		}
		if list := must(t, h.Client, "ListSigningIdentities", object{"agentId": agent})["identities"].([]any); len(list) != 2 {
			t.Errorf("the owner sees %v", list)
		}
		for name, keys := range map[string][]string{"more": {granted.Name, private.Name}, "none": {}} {
			signing["signingKeys"] = keys
			if _, status, text := act(t, writer, "UpdateAgent", object{"agentId": agent, "definition": definition(signing)}); status != 403 || text != wire.MsgSigningGrant {
				t.Errorf("a writer grants %s: %d %s", name, status, text)
			}
		}
		// The same set in another form is unchanged, also when the owner has forgotten the key meanwhile.
		must(t, h.Client, "DeleteSigningIdentity", object{"name": granted.Name})
		delete(signing, "signingKeys")
		signing["signingKey"], signing["name"] = granted.Name, "Renamed"
		must(t, writer, "UpdateAgent", object{"agentId": agent, "definition": definition(signing)})
		signing["signingKeys"] = []string{private.Name}
		must(t, h.Client, "UpdateAgent", object{"agentId": agent, "definition": definition(signing)})
	})
}
