package operation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/agent/collaborator"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// person is one column of the matrix: somebody, and the agent that they turn to.
type person struct {
	name string
	*client.Client
	// on has the owner's resources that the person asks for.
	on world
	// role on them; empty for whom they do not exist.
	role string
	// foreign says that the session is not one that the person opened, which matters to chatters.
	foreign bool
	// delegate says that the person acts for the owner by a capability.
	delegate bool
}

// matrix is an owner with a private agent, one that is public to read and one to chat with, and everybody who may come along.
type matrix struct {
	h      *servertest.Harness
	model  *scripted.Server
	people []person
	writer *principal.Key
	// remote is the address of a file elsewhere.
	remote string
}

// invite puts a key on an agent.
func (m *matrix) invite(t *testing.T, agent string, k *principal.Key, role string) {
	t.Helper()
	must(t, m.h.Client, "InviteAgentCollaborator", object{"agentId": agent, "accountId": k.ID().String(), "role": role})
	must(t, m.h.As(k), "AcceptAgentInvite", object{"agentId": agent})
}

// resources are what an agent has: a session that somebody opened, with a turn, a file, an attachment.
func (m *matrix) resources(t *testing.T, agent string, c *client.Client) world {
	t.Helper()
	w := world{h: m.h, agent: agent, remote: m.remote}
	w.session = must(t, c, "CreateSession", object{"agentId": agent})["sessionId"].(string)
	must(t, c, "MessageSession", object{"sessionId": w.session, "content": text("hello")})
	runs := must(t, c, "ListRuns", object{"sessionId": w.session})["runs"].([]any)
	w.run = runs[0].(object)["id"].(string)
	w.approval = servertest.Asked(t, m.h.Client, c, agent, w.session)
	must(t, m.h.Client, "WriteAgentMemoryFile", object{"agentId": agent, "path": "a.txt", "content": "secret plan"})
	attached := must(t, c, "UploadSessionAttachment", object{"sessionId": w.session, "name": "a.txt", "content": []byte("bytes")})
	w.attachment = attached["attachment"].(object)["id"].(string)
	return w.withTriggers()
}

// uploading begins an upload for the agent.
func uploading(w world) world {
	w.upload = w.beginUpload("up.txt", 1)
	w.abandoned = w.upload
	return w
}

func newMatrix(t *testing.T, cfg server.Config) *matrix {
	t.Helper()
	m := &matrix{remote: remoteFile(t, &cfg), writer: newKey(t, 41)}
	m.h = servertest.Start(t, cfg)
	m.model = servertest.Scripted(t, servertest.AskFirst(), scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}})
	h := m.h
	reader, pending, revoked := newKey(t, 42), newKey(t, 43), newKey(t, 44)
	stranger, chatter, tenant, delegate := newKey(t, 45), newKey(t, 46), newKey(t, 47), newKey(t, 48)
	private := uploading(m.resources(t, h.Agent(m.model), h.Client))
	m.invite(t, private.agent, m.writer, collaborator.Writer)
	m.invite(t, private.agent, reader, collaborator.Reader)
	m.invite(t, private.agent, revoked, collaborator.Writer)
	must(t, h.Client, "RemoveAgentCollaborator", object{"agentId": private.agent, "accountId": revoked.ID().String()})
	must(t, h.Client, "InviteAgentCollaborator", object{"agentId": private.agent, "accountId": pending.ID().String(), "role": "writer"})
	must(t, h.As(tenant), "SetModelProvider", object{"name": "scripted", "provider": object{"type": "tutor"}})
	must(t, h.As(tenant), "CreateAgent", object{"definition": definition(nil)})
	h.Delegate(delegate)
	byCapability, err := client.New(h.URL, delegate, client.WithAccount(h.Key.ID()))
	if err != nil {
		t.Fatal(err)
	}

	public := uploading(m.resources(t, h.Agent(m.model), h.Client))
	must(t, h.Client, "SetAgentPublicRead", object{"agentId": public.agent, "publicRead": true})
	chat := uploading(m.resources(t, h.Agent(m.model), h.Client))
	must(t, h.Client, "SetAgentPublicRead", object{"agentId": chat.agent, "publicRead": true})
	must(t, h.Client, "SetAgentPublicChat", object{"agentId": chat.agent, "publicChat": true})
	own := m.resources(t, chat.agent, h.As(chatter))
	own.upload, own.abandoned = chat.upload, chat.abandoned

	m.people = []person{
		{name: "owner", Client: h.Client, on: private, role: collaborator.Owner},
		{name: "writer", Client: h.As(m.writer), on: private, role: collaborator.Writer},
		{name: "reader", Client: h.As(reader), on: private, role: collaborator.Reader},
		{name: "public reader", Client: h.As(stranger), on: public, role: collaborator.Reader},
		{name: "chatter", Client: h.As(chatter), on: own, role: collaborator.Chatter},
		{name: "chatter elsewhere", Client: h.As(chatter), on: chat, role: collaborator.Chatter, foreign: true},
		{name: "stranger", Client: h.As(stranger), on: private},
		{name: "pending", Client: h.As(pending), on: private},
		{name: "revoked", Client: h.As(revoked), on: private},
		{name: "other tenant", Client: h.As(tenant), on: private},
		{name: "delegate", Client: byCapability, on: private, role: collaborator.Owner, delegate: true},
	}
	return m
}

// onAgent tells whether an operation is about a resource of an agent, by what a stranger is told.
func onAgent(gone string) bool {
	return slices.Contains([]string{wire.MsgAgentNotFound, wire.MsgSessionNotFound, wire.MsgRunNotFound, wire.MsgTriggerNotFound, wire.MsgApprovalNotFound, wire.MsgUploadNotFound}, gone)
}

// verdict is what the class of an operation says to a person: the status and text of a refusal, or zero.
func verdict(op *operation.Operation, p *person, gone string) (status int, text string) {
	said := gone == wire.MsgSessionNotFound || gone == wire.MsgRunNotFound || gone == wire.MsgApprovalNotFound
	switch {
	case p.delegate && !op.Delegable():
		return 403, "A delegated key may not do this: sign with the account's own key"
	case !onAgent(gone), p.role == collaborator.Owner:
		return 0, ""
	case p.role == "", p.foreign && said:
		return 404, gone
	case op.Access == operation.Read, op.Access == operation.Self:
		return 0, ""
	case op.Access == operation.Owner:
		return 403, wire.MsgOwnerOnly
	case p.role == collaborator.Writer, p.role == collaborator.Chatter && op.Access == operation.Chat:
		return 0, ""
	}
	return 403, wire.MsgWriteAccess
}

func TestEveryOperationAnswersEverybodyAsItsClassSays(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		m := newMatrix(t, cfg)
		for _, op := range operation.New(operation.Options{}).Operations() {
			for i := range m.people {
				p := m.people[i]
				gone := rows(p.on)[op.Name].gone
				want, wantText := verdict(&op, &p, gone)
				switch {
				case !onAgent(gone) && !p.delegate:
					// Of one's own account: TestEveryOperationHasARowAndAStrangerReachesNothing.
					continue
				case want == 0 && spends(op.Name):
					p.on = m.throwaway(t, op.Name)
				}
				_, status, message := act(t, p.Client, op.Name, rows(p.on)[op.Name].request)
				if p.on.upload != "" && want == 0 && spends(op.Name) {
					// An account has few uploads at a time.
					act(t, m.h.Client, "AbortFileUpload", object{"uploadId": p.on.upload})
				}
				switch {
				case want != 0 && (status != want || message != wantText):
					t.Errorf("%s by %s: %d %q, want %d %q", op.Name, p.name, status, message, want, wantText)
				case want == 0 && (status == 403 || status == 401 || status >= 500 || onAgent(message)):
					t.Errorf("%s by %s is refused: %d %s", op.Name, p.name, status, message)
				}
			}
		}
	})
}

// spends tells whether an operation uses up what it is about.
func spends(name string) bool {
	return slices.Contains([]string{"DeleteAgent", "DeleteAgentTrigger", "DeleteSession", "AppendFileUploadChunk", "CommitFileUpload", "AbortFileUpload"}, name)
}

// throwaway is an agent that may be deleted, with what an operation needs of it.
func (m *matrix) throwaway(t *testing.T, operation string) world {
	t.Helper()
	w := world{h: m.h, agent: m.h.Agent(m.model)}
	m.invite(t, w.agent, m.writer, collaborator.Writer)
	w.session = m.h.Session(w.agent)
	w = w.withTriggers()
	if strings.Contains(operation, "Upload") {
		w = uploading(w)
	}
	return w
}

func TestEverybodySubscribesToWhatTheyMayRead(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		m := newMatrix(t, cfg)
		for _, p := range m.people {
			for key, gone := range map[string]string{
				wire.KeyAgent + p.on.agent: wire.MsgAgentNotFound, wire.KeySession + p.on.session: wire.MsgSessionNotFound,
				wire.KeyRun + p.on.run: wire.MsgRunNotFound, wire.KeyAccount + m.h.Key.ID().String(): wire.MsgKeyNotAuthorized,
			} {
				want := gone
				if p.role == collaborator.Owner || p.role != "" && gone != wire.MsgKeyNotAuthorized && (!p.foreign || gone == wire.MsgAgentNotFound) {
					want = ""
				}
				if got := subscribe(t, p.Client, key); got != want {
					t.Errorf("%s subscribes to %s: %q, want %q", p.name, key, got, want)
				}
			}
		}
	})
}

// subscribe returns how a subscription is refused; nothing when it is not.
func subscribe(t *testing.T, c *client.Client, key string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for f, err := range c.Subscribe(ctx, key, 0) {
		switch {
		case err != nil:
			return fmt.Sprint(err)
		case f.Kind == wire.FrameError:
			return f.Message
		case f.Kind == wire.FrameSubscribed:
			return ""
		}
	}
	return "the stream ended"
}
