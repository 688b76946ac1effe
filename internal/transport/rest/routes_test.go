package rest_test

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/hypermedia/hypermediatest"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// call is one request of a walk. {name} in a path is replaced by what an earlier answer was kept as.
type call struct {
	op, method, path string
	body             any
	// keep names a text of the answer, by its path, for later calls.
	keep, as string
}

// aKey is somebody's.
const aKey = "z6MkmM42vxfqZQsv4ehtTjFFxQ4sQKS2w6WR7emozFAn5cxu"

// walk uses every route, in an order in which each finds what it needs.
func walk() []call {
	message := text("hello")
	first := []call{
		{"GetCaller", "GET", "/me", nil, "account", "account"},
		{"ListAgents", "GET", "/agents", nil, "", ""},
		{"SetModelProvider", "PUT", "/providers/mine", object{"provider": object{"type": "tutor"}}, "", ""},
		{"ListModelProviders", "GET", "/providers", nil, "", ""},
		{"ListProviderTypes", "GET", "/provider-types", nil, "", ""},
		{"ListProviderModels", "GET", "/providers/mine/models", nil, "", ""},
		{"CreateAgent", "POST", "/agents", object{"definition": definition(nil)}, "agentId", "agentId"},
		{"GetAgent", "GET", "/agents/{agentId}", nil, "", ""},
		{"UpdateAgent", "PUT", "/agents/{agentId}", object{"definition": definition(object{"name": "Notary"})}, "", ""},
		{"SaveAgentTool", "POST", "/agents/{agentId}/tools", object{"tool": object{"name": "count", "description": "Counts.", "source": "x"}}, "", ""},
		{"ListAgentTools", "GET", "/agents/{agentId}/tools", nil, "", ""},
		{"DeleteAgentTool", "DELETE", "/agents/{agentId}/tools/count", nil, "", ""},
	}
	return slices.Concat(first, triggerWalk(), []call{
		{"WriteAgentMemoryFile", "PUT", "/agents/{agentId}/memory/notes/a.txt", object{"content": "plan"}, "", ""},
		{"ReadAgentMemoryFile", "GET", "/agents/{agentId}/memory/notes/a.txt", nil, "", ""},
		{"ListAgentMemory", "GET", "/agents/{agentId}/memory", nil, "", ""},
		{"ListAgentMemoryDir", "GET", "/agents/{agentId}/folder?path=notes", nil, "", ""},
		{"DownloadAgentMemoryFile", "POST", "/agents/{agentId}/downloads", object{"url": "{remote}", "path": "got.txt"}, "", ""},
		{"BeginFileUpload", "POST", "/uploads", object{"target": object{"kind": "memory", "agentId": "{agentId}", "path": "up.bin"}, "size": 4}, "uploadId", "uploadId"},
		{"AppendFileUploadChunk", "PUT", "/uploads/{uploadId}?offset=0", []byte("four"), "", ""},
		{"CommitFileUpload", "POST", "/uploads/{uploadId}/commit", nil, "", ""},
		{"BeginFileUpload", "POST", "/uploads", object{"target": object{"kind": "memory", "agentId": "{agentId}", "path": "up.bin"}, "size": 4}, "uploadId", "uploadId"},
		{"AbortFileUpload", "DELETE", "/uploads/{uploadId}", nil, "", ""},
		{"DeleteAgentMemoryFile", "DELETE", "/agents/{agentId}/memory/notes/a.txt", nil, "", ""},
		{"CreateSession", "POST", "/agents/{agentId}/sessions", object{"title": "First"}, "sessionId", "sessionId"},
		{"UploadSessionAttachment", "POST", "/sessions/{sessionId}/attachments?name=a.txt", []byte("bytes"), "attachment.id", "attachmentId"},
		{"ReadSessionAttachment", "GET", "/sessions/{sessionId}/attachments/{attachmentId}", nil, "", ""},
		{"InvokeSessionTool", "POST", "/sessions/{sessionId}/invoke", object{"verb": "read", "input": object{"address": "~/self"}}, "", ""},
		{"MessageSession", "POST", "/sessions/{sessionId}/messages", message, "", ""},
		{"GetSession", "GET", "/sessions/{sessionId}", nil, "", ""},
		{"GetSessionEvent", "GET", "/sessions/{sessionId}/events/1", nil, "", ""},
		{"ListSessions", "GET", "/sessions?agentId={agentId}", nil, "", ""},
		{"UpdateSession", "PATCH", "/sessions/{sessionId}", object{"title": "Renamed"}, "", ""},
		{"FindRuns", "GET", "/runs", nil, "runs.0.id", "runId"},
		{"GetRun", "GET", "/runs/{runId}", nil, "", ""},
		{"GetRunJournal", "GET", "/runs/{runId}/journal", nil, "", ""},
		{"ListApprovals", "GET", "/approvals?status=pending", nil, "approvals.0.id", "approvalId"},
		{"GetApproval", "GET", "/approvals/{approvalId}", nil, "", ""},
		{"DecideApproval", "POST", "/approvals/{approvalId}/decide", object{"approve": false, "note": "Not now."}, "", ""},
		{"StartScript", "POST", "/agents/{agentId}/scripts", object{"script": "export default async () => 1"}, "", ""},
		{"SignalRun", "POST", "/runs/{runId}/signal", object{"signal": "go", "payload": []int{1}}, "", ""},
		{"CancelRun", "POST", "/runs/{runId}/cancel", nil, "", ""},
		{"StopSession", "POST", "/sessions/{sessionId}/stop", nil, "", ""},
		{"RetrySession", "POST", "/sessions/{sessionId}/retry", nil, "", ""},
		{"DeleteSession", "DELETE", "/sessions/{sessionId}", nil, "", ""},
		{"InviteAgentCollaborator", "PUT", "/agents/{agentId}/collaborators/" + aKey, object{"role": "reader"}, "", ""},
		{"ListAgentCollaborators", "GET", "/agents/{agentId}/collaborators", nil, "", ""},
		{"RemoveAgentCollaborator", "DELETE", "/agents/{agentId}/collaborators/" + aKey, nil, "", ""},
		{"SetAgentPublicRead", "PUT", "/agents/{agentId}/public-read", object{"publicRead": true}, "", ""},
		{"SetAgentPublicChat", "PUT", "/agents/{agentId}/public-chat", object{"publicChat": true}, "", ""},
		{"ListAgentInvites", "GET", "/invites", nil, "invites.0.agentId", "invitedTo"},
		{"AcceptAgentInvite", "POST", "/invites/{invitedTo}/accept", nil, "", ""},
		{"ListAgentInvites", "GET", "/invites", nil, "invites.0.agentId", "invitedTo"},
		{"DeclineAgentInvite", "DELETE", "/invites/{invitedTo}", nil, "", ""},
		{"DeleteAgent", "DELETE", "/agents/{agentId}", nil, "", ""},
		{"DeleteModelProvider", "DELETE", "/providers/mine", nil, "", ""},
		{"StartProviderOAuth", "POST", "/provider-sign-ins", object{"providerType": "openai"}, "loginId", "loginId"},
		{"GetProviderOAuthStatus", "GET", "/provider-sign-ins/{loginId}", nil, "", ""},
		{"SubmitProviderOAuthCode", "POST", "/provider-sign-ins/{loginId}/code", object{"code": "the-code"}, "", ""},
		{"CancelProviderOAuth", "DELETE", "/provider-sign-ins/{loginId}", nil, "", ""},
		{"CreateSigningIdentity", "POST", "/identities", object{"label": "Scribe"}, "identity.name", "identity"},
		{"ListSigningIdentities", "GET", "/identities", nil, "", ""},
		{"UpdateSigningIdentity", "PATCH", "/identities/{identity}", object{"label": "Notary", "icon": object{"data": []byte("<svg/>"), "mimeType": "image/svg+xml"}}, "", ""},
		{"DeleteSigningIdentity", "DELETE", "/identities/{identity}", nil, "", ""},
		{"ImportSigningIdentity", "POST", "/identities/import", object{"seed": bytes.Repeat([]byte{7}, 32)}, "", ""},
		{"SetMcpServer", "PUT", "/mcp-servers/box", object{"config": object{"url": "{remote}"}}, "", ""},
		{"ListMcpServers", "GET", "/mcp-servers", nil, "", ""},
		{"RefreshMcpServer", "POST", "/mcp-servers/box/refresh", nil, "", ""},
		{"StartMcpLogin", "POST", "/mcp-servers/box/login", nil, "", ""},
		{"DeleteMcpServer", "DELETE", "/mcp-servers/box", nil, "", ""},
		{"SetSecret", "PUT", "/secrets/key", object{"value": "s3cret"}, "", ""},
		{"ListSecrets", "GET", "/secrets", nil, "", ""},
		{"DeleteSecret", "DELETE", "/secrets/key", nil, "", ""},
		{"CreateSignInLink", "POST", "/sign-ins", nil, "", ""},
		{"ListSignIns", "GET", "/sign-ins", nil, "signIns.0.id", "signInId"},
		{"DeleteSignIn", "DELETE", "/sign-ins/{signInId}", nil, "", ""},
		{"BeginPasskey", "POST", "/passkeys/begin", nil, "", ""},
		{"FinishPasskey", "POST", "/passkeys/finish", answerPasskey, "passkey.id", "passkeyId"},
		{"ListPasskeys", "GET", "/passkeys", nil, "", ""},
		{"DeletePasskey", "DELETE", "/passkeys/{passkeyId}", nil, "", ""},
		{"LinkKey", "POST", "/keys", object{"key": aKey, "name": "desktop"}, "", ""},
		{"ListKeys", "GET", "/keys", nil, "keys.0.key", "keyId"},
		{"UnlinkKey", "DELETE", "/keys/{keyId}", nil, "", ""},
		{"ListSigners", "GET", "/signers", nil, "signers.0.signerId", "signerId"},
		{"RevokeSigner", "DELETE", "/signers/{signerId}", nil, "", ""},
		{"CreateToken", "POST", "/tokens", object{"name": "ci", "scopes": []string{"read"}}, "info.id", "tokenId"},
		{"ListTokens", "GET", "/tokens", nil, "", ""},
		{"DeleteToken", "DELETE", "/tokens/{tokenId}", nil, "", ""},
	})
}

// triggerWalk is the part of the walk about triggers.
func triggerWalk() []call {
	hourly := object{"name": "Hourly", "prompt": "Look.", "source": object{"type": "schedule", "schedule": object{"kind": "interval", "every": 1, "unit": "hours"}},
		"continuation": object{"kind": "wake", "signal": "hour"}}
	mentions := object{"name": "Mentions", "prompt": "Answer.", "source": object{"type": "user-mention", "mentionedAccounts": []string{aKey}}}
	return []call{
		{"CreateAgentTrigger", "POST", "/agents/{agentId}/triggers", object{"trigger": mentions}, "trigger.id", "otherId"},
		{"GetAgentTrigger", "GET", "/triggers/{otherId}", nil, "", ""},
		{"UpdateAgentTrigger", "PATCH", "/triggers/{otherId}", object{"patch": object{"enabled": false}}, "", ""},
		{"CombineAgentTriggers", "POST", "/triggers/{otherId}/combine", func(t *testing.T, h *servertest.Harness, a servertest.Answer) any {
			target := servertest.JSON[wire.AgentTriggerResponse](t, a).Trigger
			other := servertest.Call[wire.AgentTriggerResponse](h, "CreateAgentTrigger", object{"agentId": target.AgentID, "trigger": mentions}).Trigger
			return object{"otherTriggerId": other.ID, "expectedUpdatedAt": target.UpdatedAt, "otherExpectedUpdatedAt": other.UpdatedAt}
		}, "", ""},
		{"CreateAgentTrigger", "POST", "/agents/{agentId}/triggers", object{"trigger": hourly}, "trigger.id", "triggerId"},
		{"PreviewAgentTrigger", "POST", "/agents/{agentId}/trigger-preview", object{"trigger": hourly}, "", ""},
		{"ListAgentTriggers", "GET", "/agents/{agentId}/triggers", nil, "", ""},
		{"RunAgentTrigger", "POST", "/triggers/{triggerId}/run", nil, "", ""},
		{"DeleteAgentTrigger", "DELETE", "/triggers/{triggerId}", nil, "", ""},
	}
}

// anyIssuer gives out tokens for every code.
func anyIssuer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"access_token":"a","refresh_token":"r","expires_in":3600}`))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// answerPasskey is the body of FinishPasskey, made of the answer of the step before.
func answerPasskey(t *testing.T, h *servertest.Harness, before servertest.Answer) any {
	t.Helper()
	asked := servertest.JSON[wire.PasskeyChallenge](t, before)
	return object{"challengeId": asked.ChallengeID, "name": "key", "credential": newAuthenticator(t, h).create(asked.PublicKey)}
}

// fill replaces the names in a path by what was kept.
func fill(path string, kept map[string]string) string {
	for name, value := range kept {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	return path
}

// fillBody is fill for the texts of an object.
func fillBody(body any, kept map[string]string) any {
	fields, ok := body.(object)
	if !ok {
		return body
	}
	out := object{}
	for name, v := range fields {
		if text, ok := v.(string); ok {
			v = fill(text, kept)
		}
		out[name] = fillBody(v, kept)
	}
	return out
}

func TestEveryRouteAnswersWhatTheDocumentSays(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("elsewhere")) }))
		t.Cleanup(remote.Close)
		cfg.EgressAllow = []string{strings.TrimPrefix(remote.URL, "http://")}
		cfg.HMServerURL = hypermediatest.New(t).URL
		cfg.SubscriptionClientID, cfg.SubscriptionIssuer = "loam-test", anyIssuer(t)
		w := build(t, cfg, servertest.AskFirst(), scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}})
		w.h.Browser()
		w.h.Delegate(newKey(t, 31))
		servertest.Asked(t, w.h.Client, w.h.Client, w.agent, w.h.Session(w.agent))
		w.invited(t, 2)
		c := newChecker(t, w.api)
		routes := map[string]*operation.Route{}
		for _, op := range operation.New(operation.Options{}).Operations() {
			if op.Route != nil {
				routes[op.Name] = op.Route
			}
		}
		left := maps.Clone(routes)
		kept := map[string]string{"remote": remote.URL}
		var a servertest.Answer
		for _, step := range walk() {
			route := routes[step.op]
			if route == nil {
				t.Fatalf("%s has no route", step.op)
			}
			delete(left, step.op)
			if make, ok := step.body.(func(*testing.T, *servertest.Harness, servertest.Answer) any); ok {
				step.body = make(t, w.h, a)
			}
			a = w.api.Do(step.method, "/api/v1"+fill(step.path, kept), fillBody(step.body, kept))
			if a.Header.Get("X-Request-Id") == "" || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: headers %v", step.op, a.Header)
			}
			switch {
			case step.op == "StartMcpLogin":
				refused(t, a, http.StatusPreconditionFailed, "precondition_failed")
				continue
			case step.op == "RetrySession":
				refused(t, a, http.StatusBadRequest, "validation_failed")
				continue
			case a.Status != route.OK():
				t.Fatalf("%s: %d %s", step.op, a.Status, a.Body)
			case route.Kind == operation.Download:
				continue
			}
			c.check(t, step.method, strings.ReplaceAll(route.Path, "...}", "}"), a)
			if step.keep != "" {
				kept[step.as] = pick(t, servertest.JSON[any](t, a), step.keep)
			}
		}
		for name := range left {
			t.Errorf("the walk leaves out %s", name)
		}
	})
}

// pick finds a text by a path of names and indexes.
func pick(t *testing.T, value any, path string) string {
	t.Helper()
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case object:
			value = v[name]
		case []any:
			value = v[0]
		}
	}
	text, ok := value.(string)
	if !ok {
		t.Fatalf("no text at %s", path)
	}
	return text
}

func TestAnAgentMadeHereHasNoToolThatWasNotNamed(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		tools := func(id string) *[]string {
			return servertest.Get[wire.GetAgentResponse](w.api, "/agents/"+id).Agent.Definition.Tools
		}
		id := servertest.Post[wire.CreateAgentResponse](w.api, "/agents", object{"definition": definition(nil)}).AgentID
		if got := tools(id); got == nil || len(*got) != 0 {
			t.Errorf("a new agent has the tools %v, want an explicit empty list", got)
		}
		// A definition without the list changes nothing about it, neither to more nor to less.
		for _, list := range [][]string{{"publish"}, nil} {
			change := object{}
			if list != nil {
				change["tools"] = list
			}
			w.api.Do("PUT", "/api/v1/agents/"+id, object{"definition": definition(change)})
			if got := tools(id); got == nil || len(*got) != 1 || (*got)[0] != "publish" {
				t.Errorf("after saving with the tools %v: %v", list, got)
			}
		}
		// The agent of the wire has every tool, as its protocol says; saving it here does not take them away.
		w.api.Do("PUT", "/api/v1/agents/"+w.agent, object{"definition": definition(nil)})
		if got := tools(w.agent); got != nil {
			t.Errorf("an agent with every tool was saved and has %v", *got)
		}
	})
}

func TestFilesGoUpAndComeDownAsTheyAre(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		session := w.session(t)
		content := []byte("<script>alert(1)</script>\x00\xff")
		up := w.api.With("Content-Type", "text/html").Do("POST", "/api/v1/sessions/"+session+"/attachments?name=%C3%A9%22x.html", content)
		file := servertest.JSON[wire.AttachmentResponse](t, up).Attachment
		down := w.api.Do("GET", "/api/v1/sessions/"+session+"/attachments/"+file.ID, nil)
		if up.Status != http.StatusCreated || !bytes.Equal(down.Body, content) || file.MimeType != "text/html" || file.Name != `é"x.html` {
			t.Errorf("up %d %+v, down %q", up.Status, file, down.Body)
		}
		h := down.Header
		if !strings.HasPrefix(h.Get("Content-Disposition"), "attachment;") || h.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || h.Get("Content-Type") != "text/html" {
			t.Errorf("a browser might show it: %v", h)
		}
		raw := []byte{0, 1, 0xfe}
		path := "/api/v1/agents/" + w.agent + "/memory/dir%2Fraw.bin"
		if a := w.api.Do("PUT", path, object{"data": raw}); a.Status != http.StatusOK {
			t.Fatalf("write bytes: %d %s", a.Status, a.Body)
		}
		read := servertest.Get[wire.ReadAgentMemoryFileResponse](w.api, "/agents/"+w.agent+"/memory/dir/raw.bin").File
		if !bytes.Equal(read.Data, raw) {
			t.Errorf("bytes of a file: %+v", read)
		}
		w.api.Do("PUT", "/api/v1/agents/"+w.agent+"/memory/other.txt", object{"content": "x"})
		for folder, want := range map[string]int{"": 3, "dir": 2, "dir/raw.bin": 1, "di": 0} {
			list := servertest.Get[wire.ListAgentMemoryResponse](w.api, "/agents/"+w.agent+"/memory?path="+folder)
			if len(list.Entries) != want {
				t.Errorf("the folder %q lists %v", folder, list.Entries)
			}
		}
		for _, body := range []object{{}, {"content": "a", "data": raw}, {"data": "%"}} {
			refused(t, w.api.Do("PUT", path, body), http.StatusBadRequest, "validation_failed")
		}
	})
}

// routed are the operations with a route.
func routed() []operation.Operation {
	var out []operation.Operation
	for _, op := range operation.New(operation.Options{}).Operations() {
		if op.Route != nil {
			out = append(out, op)
		}
	}
	return out
}
