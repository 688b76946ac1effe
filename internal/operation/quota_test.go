package operation_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/account/quota"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
)

// guest is an account with an agent of its own on a server of another owner.
func guest(t *testing.T, h *servertest.Harness, m *scripted.Server) (c *client.Client, agent string) {
	t.Helper()
	c = h.As(newKey(t, 9))
	must(t, c, "SetModelProvider", object{"name": "scripted", "provider": object{"type": "custom", "baseUrl": m.BaseURL("openai-chat")}})
	return c, must(t, c, "CreateAgent", object{"definition": definition(nil)})["agentId"].(string)
}

func TestAnAccountKeepsNoMoreThanItsQuota(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		cfg.Limits = quota.Limits{Storage: 100, Sessions: 3}
		remote := remoteFile(t, &cfg)
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{{Call: &scripted.Call{Name: "write", Arguments: `{"address":"~/memory/own.md","content":"` + long(30) + `"}`}}}}, scripted.Turn{Steps: []scripted.Step{{Text: "Tried."}}})
		c, agent := guest(t, h, m)
		session := must(t, c, "CreateSession", object{"agentId": agent})["sessionId"]
		write := func(path string, size int) (int, string) {
			_, status, text := act(t, c, "WriteAgentMemoryFile", object{"agentId": agent, "path": path, "content": long(size)})
			return status, text
		}
		// Writers that fit each do not go beyond it together.
		var kept atomic.Int64
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				status, text := write(fmt.Sprint(i), 30)
				if status == http.StatusOK {
					kept.Add(1)
				} else if status != 413 || text != "The account may keep 100 bytes, and this would be more: delete files or sessions first" {
					t.Errorf("a file too many: %d %s", status, text)
				}
			})
		}
		wg.Wait()
		if kept.Load() != 3 {
			t.Errorf("%d files of 30 bytes are kept", kept.Load())
		}
		upload := func(size int) int {
			_, status, _ := act(t, c, "BeginFileUpload", object{"size": size, "target": object{"kind": "memory", "agentId": agent, "path": "up"}})
			return status
		}
		_, attach, _ := act(t, c, "UploadSessionAttachment", object{"sessionId": session, "name": "a", "content": []byte(long(11))})
		if got := []int{upload(11), attach, upload(10), upload(1)}; fmt.Sprint(got) != "[413 413 200 413]" {
			t.Errorf("an upload of 11, a file of a session, an upload of 10, another one: %v", got)
		}
		// What is refused is not kept either: its bytes would lie there for nobody.
		blobs := func() (n int) {
			_ = filepath.WalkDir(filepath.Join(h.Config.DataDir, "blobs"), func(_ string, d fs.DirEntry, _ error) error {
				if d != nil && !d.IsDir() {
					n++
				}
				return nil
			})
			return n
		}
		before := blobs()
		_, down, why := act(t, c, "DownloadAgentMemoryFile", object{"agentId": agent, "url": remote})
		if _, up := write("more", 50); down != 413 || why != up || blobs() != before {
			t.Errorf("a download: %d %s, and %d files more lie in the blob store", down, why, blobs()-before)
		}
		// Its agent is bound too, and reads why.
		must(t, c, "MessageSession", object{"sessionId": session, "content": text("write it down")})
		requests := m.Requests()
		if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "delete files or sessions first") {
			t.Errorf("the agent was told %.2000s", last)
		}
		// Who makes room may go on, and the owner has no quota.
		for i := range 6 {
			must(t, c, "DeleteAgentMemoryFile", object{"agentId": agent, "path": fmt.Sprint(i)})
		}
		for range 2 {
			// A file makes room for what replaces it.
			if status, text := write("again", 90); status != http.StatusOK {
				t.Errorf("after a deletion: %d %s", status, text)
			}
		}
		mine := h.Agent(m)
		must(t, h.Client, "WriteAgentMemoryFile", object{"agentId": mine, "path": "a", "content": long(1000)})
		for range 5 {
			h.Session(mine)
		}
		for range 2 {
			must(t, c, "CreateSession", object{"agentId": agent})
		}
		_, status, text := act(t, c, "CreateSession", object{"agentId": agent})
		if status != 429 || text != "The account has too many sessions: at most 3; delete some first" {
			t.Errorf("a session too many: %d %s", status, text)
		}
		must(t, c, "DeleteSession", object{"sessionId": session})
		must(t, c, "CreateSession", object{"agentId": agent})
	})
}

func TestTooManyRequestsAreToldWhenToComeBack(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{Limits: quota.Limits{Messages: 1, SignerActions: 100_000, Actions: 100_000}, LimitOwner: true})
	m := servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}})
	session := h.Session(h.Agent(m))
	must(t, h.Client, "MessageSession", object{"sessionId": session, "content": text("one")})
	after := func(header http.Header) bool {
		seconds, err := strconv.Atoi(header.Get("Retry-After"))
		return err == nil && seconds >= 1 && seconds <= 60
	}
	body := signed(t, h.Key, "MessageSession", object{"sessionId": session, "content": text("two")}, 3)
	resp := send(t, h.URL, body)
	if f := decode(t, resp.body); resp.status != 429 || !after(resp.header) || !strings.HasPrefix(f["message"].(string), "Too many messages: at most 1 in a minute; try again in ") {
		t.Errorf("the wire: %d %v %v", resp.status, resp.header, f)
	}
	a := h.REST(h.Token()).Do("POST", "/api/v1/sessions/"+session+"/messages", object{"content": text("two")})
	if code, _, details := a.Problem(t); a.Status != 429 || code != "rate_limited" || details["quota"] != "messages" || !after(a.Header) {
		t.Errorf("REST: %d %v %s", a.Status, a.Header, a.Body)
	}
	if events := h.Events(session); len(events) != 2 {
		t.Errorf("a refused message stands in the log: %d events", len(events))
	}
}

func TestAFloodOfActionsIsRefusedAndOthersAreNot(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{Limits: quota.Limits{Actions: 1, SignerActions: 1}})
	flood := h.As(newKey(t, 8))
	var refused atomic.Int64
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			_, status, text := act(t, flood, "ListAgents", object{"attempt": i})
			if status == http.StatusTooManyRequests {
				refused.Add(1)
			} else if status != http.StatusOK {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	wg.Wait()
	if refused.Load() < 30 {
		t.Errorf("of 60 requests at once %d were refused", refused.Load())
	}
	must(t, h.As(newKey(t, 10)), "ListAgents", nil)
	for i := range 10 {
		must(t, h.Client, "ListAgents", object{"attempt": i})
	}
}
