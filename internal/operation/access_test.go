package operation_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/hypermedia/hypermediatest"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// build makes a world: an agent that answered one message, with a file, an attachment, a provider and a secret.
func build(t *testing.T, cfg server.Config) world {
	t.Helper()
	remote := remoteFile(t, &cfg)
	cfg.HMServerURL = hypermediatest.New(t).URL
	cfg.SubscriptionClientID = "loam-test"
	h := servertest.Start(t, cfg)
	m := servertest.Scripted(t, servertest.AskFirst(), scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}})
	w := world{h: h, model: m, agent: h.Agent(m), remote: remote}
	w.session = h.Session(w.agent)
	answer, err := h.Send(w.session, "hello")
	if err != nil {
		t.Fatal(err)
	}
	w.event = answer.AssistantEventID
	w.run = servertest.Call[wire.ListRunsResponse](h, "ListRuns", object{"sessionId": w.session}).Runs[0].ID
	must(t, h.Client, "WriteAgentMemoryFile", object{"agentId": w.agent, "path": "a.txt", "content": "secret plan"})
	w.attachment = servertest.Call[wire.AttachmentResponse](h, "UploadSessionAttachment", object{
		"sessionId": w.session, "name": "a.txt", "content": []byte("bytes"),
	}).Attachment.ID
	must(t, h.Client, "SetSecret", object{"name": "kept", "value": []byte("v")})
	w.identity = importIdentity(t, h, 51).Name
	w.login = servertest.Call[wire.StartProviderOAuthResponse](h, "StartProviderOAuth", object{"providerType": "openai"}).LoginID
	w.token = servertest.Call[wire.CreateTokenResponse](h, "CreateToken", object{"name": "t", "scopes": []string{"read"}}).Info.ID
	must(t, h.Client, "LinkKey", object{"key": linkedKey, "name": "desktop"})
	w.signer = newKey(t, 30).ID().String()
	w.capability = h.Delegate(newKey(t, 30))
	w.signIn = signIn(t, h)
	must(t, h.Client, "SetMcpServer", object{"name": "box", "config": object{"url": "http://127.0.0.1:9/mcp"}})
	w = w.withTriggers()
	w.upload, w.abandoned = w.beginUpload("up.txt", 1), w.beginUpload("never.txt", 1)
	return w
}

// asked adds an approval that nobody has decided, of an agent of its own.
func asked(t *testing.T, w world) world {
	t.Helper()
	careful := w.h.Agent(w.model)
	w.approval = servertest.Asked(t, w.h.Client, w.h.Client, careful, w.h.Session(careful))
	return w
}

// linkedKey acts as the owner's account.
const linkedKey = "z6MkmM42vxfqZQsv4ehtTjFFxQ4sQKS2w6WR7emozFAn5cxu"

// signIn signs a browser in and returns its id.
func signIn(t *testing.T, h *servertest.Harness) string {
	t.Helper()
	h.Browser()
	return servertest.Call[wire.ListSignInsResponse](h, "ListSignIns", nil).SignIns[0].ID
}

// refusal is the status with which a stranger is refused. Missing is the rule.
func refusal(name string) int {
	switch name {
	case "CreateAgent", "FinishPasskey", "RegisterSigner":
		return 400
	case "LinkKey":
		return 403
	}
	return 404
}

// row is a request, and what a stranger is told of it.
type row struct {
	request object
	gone    string
}

// with is an object with more fields.
func with(base, more object) object {
	out := maps.Clone(base)
	maps.Copy(out, more)
	return out
}

// rows has one request for each operation, on the owner's resources. `gone` is what a stranger is told; empty for operations
// on one's own account, which a stranger may use without seeing anything of the owner's.
func rows(w world) map[string]row {
	agent, session := object{"agentId": w.agent}, object{"sessionId": w.session}
	const noAgent, noSession = wire.MsgAgentNotFound, wire.MsgSessionNotFound
	out := runRows(w, agent)
	maps.Copy(out, map[string]row{
		"ListAgents":              {nil, ""},
		"CreateAgent":             {object{"definition": definition(nil)}, "Model provider not found"},
		"GetAgent":                {agent, noAgent},
		"UpdateAgent":             {with(agent, object{"definition": definition(nil)}), noAgent},
		"DeleteAgent":             {agent, noAgent},
		"ListAgentTools":          {agent, noAgent},
		"SaveAgentTool":           {with(agent, object{"tool": object{"name": "count", "description": "Counts.", "source": "x"}}), noAgent},
		"DeleteAgentTool":         {with(agent, object{"name": "count"}), noAgent},
		"InvokeSessionTool":       {with(session, object{"verb": "read", "input": object{"address": "~/self"}}), noSession},
		"SetModelProvider":        {object{"name": "mine", "provider": object{"type": "tutor"}}, ""},
		"ListModelProviders":      {agent, noAgent},
		"ListProviderModels":      {with(agent, object{"provider": "scripted"}), noAgent},
		"DeleteModelProvider":     {object{"name": "scripted"}, "Model provider not found"},
		"SetSecret":               {object{"name": "key", "value": []byte("v")}, ""},
		"ListSecrets":             {nil, ""},
		"DeleteSecret":            {object{"name": "kept"}, "Secret not found"},
		"GetCaller":               {nil, ""},
		"CreateToken":             {object{"name": "mine", "scopes": []string{"read"}}, ""},
		"ListTokens":              {nil, ""},
		"ListProviderTypes":       {nil, ""},
		"CreateSignInLink":        {nil, ""},
		"ListSignIns":             {nil, ""},
		"DeleteSignIn":            {object{"signInId": w.signIn}, "Sign-in not found"},
		"ListKeys":                {nil, ""},
		"UnlinkKey":               {object{"keyId": linkedKey}, "Key not found"},
		"RegisterSigner":          {object{"capability": w.capability}, wire.MsgCapabilityDelegate},
		"ListSigners":             {nil, ""},
		"RevokeSigner":            {object{"signerId": w.signer}, "Signer not found"},
		"BeginPasskey":            {nil, ""},
		"FinishPasskey":           {object{"challengeId": "x", "name": "n", "credential": object{}}, "The passkey was answered too late or twice: begin again"},
		"ListPasskeys":            {nil, ""},
		"DeletePasskey":           {object{"passkeyId": "none"}, "Passkey not found"},
		"LinkKey":                 {object{"key": linkedKey, "name": "desktop"}, "Only the server owner may let keys act as their account"},
		"DeleteToken":             {object{"tokenId": w.token}, "Token not found"},
		"ListAgentInvites":        {nil, ""},
		"AcceptAgentInvite":       {agent, wire.MsgInviteNotFound},
		"DeclineAgentInvite":      {agent, wire.MsgInviteNotFound},
		"ListAgentCollaborators":  {agent, noAgent},
		"InviteAgentCollaborator": {with(agent, object{"accountId": linkedKey, "role": "reader"}), noAgent},
		"RemoveAgentCollaborator": {with(agent, object{"accountId": linkedKey}), noAgent},
		"SetAgentPublicRead":      {with(agent, object{"publicRead": false}), noAgent},
		"SetAgentPublicChat":      {with(agent, object{"publicChat": false}), noAgent},
		"StartProviderOAuth":      {object{"providerType": "openai"}, ""},
		"GetProviderOAuthStatus":  {object{"loginId": w.login}, "Sign-in not found"},
		"SubmitProviderOAuthCode": {object{"loginId": w.login, "code": "x y"}, "Sign-in not found"},
		"CancelProviderOAuth":     {object{"loginId": w.login}, "Sign-in not found"},
		"ListSigningIdentities":   {agent, noAgent},
		"CreateSigningIdentity":   {nil, ""},
		"ImportSigningIdentity":   {object{"seed": bytes.Repeat([]byte{52}, 32)}, ""},
		"UpdateSigningIdentity":   {object{"name": w.identity, "label": "New"}, "Signing identity not found"},
		"DeleteSigningIdentity":   {object{"name": w.identity}, "Signing identity not found"},
		"CreateSession":           {agent, noAgent},
		"GetSession":              {session, noSession},
		"GetSessionEvent":         {with(session, object{"seq": 1}), noSession},
		"ListSessions":            {agent, noAgent},
		"UpdateSession":           {with(session, object{"title": "New"}), noSession},
		"DeleteSession":           {session, noSession},
		"StopSession":             {session, noSession},
		"MessageSession":          {with(session, object{"content": text("hi")}), noSession},
		"RetrySession":            {session, noSession},
		"ListAgentMemory":         {agent, noAgent},
		"ReadAgentMemoryFile":     {with(agent, object{"path": "a.txt"}), noAgent},
		"WriteAgentMemoryFile":    {with(agent, object{"path": "b.txt", "content": "x"}), noAgent},
		"DeleteAgentMemoryFile":   {with(agent, object{"path": "a.txt"}), noAgent},
		"ListAgentMemoryDir":      {agent, noAgent},
		"DownloadAgentMemoryFile": {with(agent, object{"url": w.remote}), noAgent},
		"BeginFileUpload":         {object{"size": 1, "target": with(agent, object{"kind": "memory", "path": "c.txt"})}, noAgent},
		"AppendFileUploadChunk":   {object{"uploadId": w.upload, "offset": 0, "content": []byte("x")}, wire.MsgUploadNotFound},
		"CommitFileUpload":        {object{"uploadId": w.upload}, wire.MsgUploadNotFound},
		"AbortFileUpload":         {object{"uploadId": w.abandoned}, wire.MsgUploadNotFound},
		"UploadSessionAttachment": {with(session, object{"name": "b.txt", "content": []byte("x")}), noSession},
		"ReadSessionAttachment":   {with(session, object{"attachmentId": w.attachment}), noSession},
	})
	maps.Copy(out, triggerRows(w))
	maps.Copy(out, mcpRows())
	return out
}

// runRows are those of rows that are about what executes.
func runRows(w world, agent object) map[string]row {
	run := object{"runId": w.run}
	const noAgent, noRun = wire.MsgAgentNotFound, wire.MsgRunNotFound
	return map[string]row{
		"GetRunJournal":  {run, noRun},
		"GetRun":         {run, noRun},
		"ListRuns":       {object{"rootRunId": w.run}, noRun},
		"FindRuns":       {object{"rootRunId": w.run}, noRun},
		"CancelRun":      {run, noRun},
		"ListApprovals":  {run, noRun},
		"GetApproval":    {object{"approvalId": w.approval}, wire.MsgApprovalNotFound},
		"DecideApproval": {object{"approvalId": w.approval, "approve": true}, wire.MsgApprovalNotFound},
		"StartScript":    {with(agent, object{"script": "export default async () => 1"}), noAgent},
		"SignalRun":      {with(run, object{"signal": "go"}), noRun},
	}
}

// mcpRows are those of MCP servers.
func mcpRows() map[string]row {
	return map[string]row{
		"ListMcpServers":   {nil, ""},
		"SetMcpServer":     {object{"name": "mine", "config": object{"url": "http://127.0.0.1:9/mcp"}}, ""},
		"RefreshMcpServer": {object{"name": "box"}, "MCP server not found"},
		"StartMcpLogin":    {object{"name": "box"}, "MCP server not found"},
		"DeleteMcpServer":  {object{"name": "box"}, "MCP server not found"},
	}
}

// triggerRows are those of triggers.
func triggerRows(w world) map[string]row {
	hourly := object{"name": "Hourly", "prompt": "Look.", "source": object{"type": "schedule", "schedule": object{"kind": "interval", "every": 1, "unit": "hours"}}}
	one := object{"triggerId": w.trigger}
	const noAgent = wire.MsgAgentNotFound
	return map[string]row{
		"ListAgentTriggers":   {object{"agentId": w.agent}, noAgent},
		"CreateAgentTrigger":  {object{"agentId": w.agent, "trigger": hourly}, noAgent},
		"PreviewAgentTrigger": {object{"agentId": w.agent, "trigger": hourly}, noAgent},
		"GetAgentTrigger":     {one, wire.MsgTriggerNotFound},
		"UpdateAgentTrigger":  {object{"triggerId": w.trigger, "patch": object{"name": "Renamed"}}, wire.MsgTriggerNotFound},
		"CombineAgentTriggers": {object{
			"triggerId": w.trigger, "otherTriggerId": w.other, "expectedUpdatedAt": w.combined[0], "otherExpectedUpdatedAt": w.combined[1],
		}, wire.MsgTriggerNotFound},
		"RunAgentTrigger":    {one, wire.MsgTriggerNotFound},
		"DeleteAgentTrigger": {object{"triggerId": w.other}, wire.MsgTriggerNotFound},
	}
}

func TestEveryOperationHasARowAndAStrangerReachesNothing(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := asked(t, build(t, cfg))
		stranger := w.h.As(newKey(t, 7))
		table := rows(w)
		operations := operation.New(operation.Options{}).Operations()
		if len(operations) != len(table) {
			t.Errorf("%d operations, %d rows", len(operations), len(table))
		}
		for _, op := range operations {
			row, ok := table[op.Name]
			if !ok {
				t.Errorf("%s has no row: say what a stranger is told", op.Name)
				continue
			}
			out, status, message := act(t, stranger, op.Name, row.request)
			switch {
			case row.gone == "" && status != 200:
				t.Errorf("%s on the stranger's own account: %d %s", op.Name, status, message)
			case row.gone == "" && (bytes.Contains(fmt.Append(nil, out), []byte(w.agent))):
				t.Errorf("%s shows the owner's: %v", op.Name, out)
			case row.gone != "" && (status != refusal(op.Name) || message != row.gone):
				t.Errorf("%s by a stranger: %d %q, want %q", op.Name, status, message, row.gone)
			}
		}
		// Nothing of the owner's has changed.
		memory := servertest.Call[wire.ListAgentMemoryResponse](w.h, "ListAgentMemory", object{"agentId": w.agent})
		if events := w.h.Events(w.session); len(events) != 2 || len(memory.Entries) != 1 {
			t.Errorf("after the stranger: %d events, memory %v", len(events), memory.Entries)
		}
		// The same requests work for the owner; the deletions come last.
		for _, op := range operations {
			if strings.HasPrefix(op.Name, "Delete") || strings.HasSuffix(op.Name, "ProviderOAuth") || op.Name == "UnlinkKey" || op.Name == "RevokeSigner" {
				continue
			}
			_, status, message := act(t, w.h.Client, op.Name, table[op.Name].request)
			if status != 200 && (op.Name != "RetrySession" || message != "Nothing to retry: the latest run did not fail") && message != wire.MsgInviteNotFound && op.Name != "FinishPasskey" && op.Name != "StartMcpLogin" && op.Name != "SubmitProviderOAuthCode" && op.Name != "RegisterSigner" {
				t.Errorf("%s by the owner: %d %s", op.Name, status, message)
			}
		}
		for _, name := range []string{"DeleteAgentTool", "DeleteAgentTrigger", "DeleteAgentMemoryFile", "DeleteSession", "DeleteAgent", "DeleteModelProvider", "DeleteSecret", "DeleteToken", "DeleteSignIn", "DeleteSigningIdentity", "DeleteMcpServer", "CancelProviderOAuth", "StartProviderOAuth", "UnlinkKey", "RevokeSigner"} {
			must(t, w.h.Client, name, table[name].request)
		}
	})
}

func TestMissingAndForeignAreTheSameAnswer(t *testing.T) {
	t.Parallel()
	w := asked(t, build(t, server.Config{}))
	stranger := w.h.As(newKey(t, 7))
	none := world{h: w.h, agent: "none", session: "none", run: "none", attachment: "none", token: "none", signIn: "none", identity: "none", login: "none", signer: "none", approval: "none", capability: w.capability, trigger: "none", other: "none", combined: w.combined, upload: "none", abandoned: "none", remote: w.remote}
	foreign, missing := rows(w), rows(none)
	for name, row := range foreign {
		if row.gone == "" {
			continue
		}
		_, s1, m1 := act(t, stranger, name, row.request)
		_, s2, m2 := act(t, stranger, name, missing[name].request)
		if s1 != s2 || m1 != m2 {
			t.Errorf("%s: foreign is %d %q, missing %d %q", name, s1, m1, s2, m2)
		}
	}
	for field, want := range map[string]string{"sessionId": wire.MsgSessionNotFound, "agentId": wire.MsgAgentNotFound} {
		if _, status, message := act(t, stranger, "ListRuns", object{field: map[string]string{"sessionId": w.session, "agentId": w.agent}[field]}); status != 404 || message != want {
			t.Errorf("ListRuns by %s: %d %s", field, status, message)
		}
	}
	if _, status, message := act(t, stranger, "ListSessions", object{"parentSessionId": w.session}); status != 404 || message != wire.MsgSessionNotFound {
		t.Errorf("ListSessions of a foreign parent: %d %s", status, message)
	}
}

func TestAnInvitingServerRefusesUnknownKeysEverywhere(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		cfg.Accounts = "invite"
		h := servertest.Start(t, cfg)
		stranger := h.As(newKey(t, 7))
		for name, row := range rows(world{h: h, agent: "a", session: "s", run: "r", attachment: "x"}) {
			want := 403
			if name == "RegisterSigner" {
				// Whose delegate an unknown key is decides, and an empty capability says nothing of that.
				want = 400
			}
			if _, status, _ := act(t, stranger, name, row.request); status != want {
				t.Errorf("%s by an unknown key: %d, want %d", name, status, want)
			}
		}
		must(t, h.Client, "ListAgents", nil)
	})
}

func TestTheActionsAreThoseOfTheGoldenList(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	for _, op := range operation.New(operation.Options{}).Operations() {
		fmt.Fprintf(&got, "%s %s %s %s %s %s\n", op.Name, op.Response, op.Access, op.Effect, op.Needs(), op.Since)
	}
	want, err := os.ReadFile("testdata/actions.golden")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the wire's actions changed; when that is meant, write this to testdata/actions.golden:\n%s", got.Bytes())
	}
}
