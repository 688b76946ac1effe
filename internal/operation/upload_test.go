package operation_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// beginUpload opens an upload into the memory of the world's agent.
func (w world) beginUpload(path string, size int) string {
	return servertest.Call[wire.BeginFileUploadResponse](w.h, "BeginFileUpload", object{
		"size": size, "target": object{"kind": "memory", "agentId": w.agent, "path": path},
	}).UploadID
}

// staged are the parts that lie in a server's data folder.
func staged(t *testing.T, cfg server.Config) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(cfg.DataDir, "blobs", "staged"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestAFileInChunksSurvivesARestartAndIsWhole(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		cfg.DataDir = t.TempDir()
		h := servertest.Start(t, cfg)
		agent := h.Agent(servertest.Scripted(t))
		session := h.Session(agent)
		content := []byte(strings.Repeat("grüße, 世界 ", 40))
		begin := func(target object) string {
			out := must(t, h.Client, "BeginFileUpload", object{"target": target, "size": len(content)})
			if out["maxChunkBytes"] != int64(8<<20) {
				t.Errorf("a chunk may be %v bytes", out["maxChunkBytes"])
			}
			return out["uploadId"].(string)
		}
		for _, target := range []object{
			{"kind": "memory", "agentId": agent, "path": "notes//long.md"},
			{"kind": "session-attachment", "sessionId": session, "name": "dir/long.md", "mimeType": " "},
		} {
			id := begin(target)
			// The chunks end inside of characters.
			const size = 101
			for offset := 0; offset < len(content); offset += size {
				end := min(offset+size, len(content))
				out := must(t, h.Client, "AppendFileUploadChunk", object{"uploadId": id, "offset": offset, "content": content[offset:end]})
				if out["received"] != int64(end) || out["uploadId"] != id {
					t.Errorf("after %d bytes: %v", end, out)
				}
				if offset == size {
					h.Stop()
					h = servertest.Start(t, cfg)
				}
			}
			first := must(t, h.Client, "CommitFileUpload", object{"uploadId": id})
			again := must(t, h.Client, "CommitFileUpload", object{"uploadId": id, "attempt": 2})
			if fmt.Sprint(first) != fmt.Sprint(again) {
				t.Errorf("a commit whose answer got lost: %v, first %v", again, first)
			}
			if left := staged(t, cfg); len(left) != 0 {
				t.Errorf("parts are left: %v", left)
			}
			sum := sha256.Sum256(content)
			switch entry, _ := first["entry"].(object); {
			case entry != nil:
				file := servertest.Call[wire.ReadAgentMemoryFileResponse](h, "ReadAgentMemoryFile", object{"agentId": agent, "path": "notes/long.md"}).File
				if file.Content == nil || *file.Content != string(content) || entry["path"] != "notes/long.md" || entry["mimeType"] != "text/markdown" || first["attachment"] != nil {
					t.Errorf("the file is %+v, the entry %v", file, entry)
				}
			default:
				info, _ := first["attachment"].(object)
				if info["id"] != hex.EncodeToString(sum[:]) || info["name"] != "long.md" || info["mimeType"] != "text/markdown" {
					t.Errorf("the attachment is %v", info)
				}
				data := must(t, h.Client, "ReadSessionAttachment", object{"sessionId": session, "attachmentId": info["id"]})["data"]
				if !bytes.Equal(data.([]byte), content) {
					t.Error("the attachment has other bytes")
				}
			}
		}
	})
}

func TestOfTwoChunksForOnePlaceOneCounts(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		cfg.DataDir = t.TempDir()
		w := world{h: servertest.Start(t, cfg)}
		w.agent = w.h.Agent(servertest.Scripted(t))
		id := w.beginUpload("race.txt", 100)
		var wg sync.WaitGroup
		statuses := make([]int, 6)
		for i := range statuses {
			wg.Go(func() {
				chunk := bytes.Repeat([]byte{'a' + byte(i)}, 100)
				_, status, text := act(t, w.h.Client, "AppendFileUploadChunk", object{"uploadId": id, "offset": 0, "content": chunk})
				if statuses[i] = status; status != 200 && (status != 409 || text != "Chunk offset 0 does not match 100 bytes received") {
					t.Errorf("a chunk that lost: %d %s", status, text)
				}
			})
		}
		wg.Wait()
		winner := -1
		for i, status := range statuses {
			if status == http.StatusOK && winner >= 0 {
				t.Errorf("both %d and %d count", winner, i)
			}
			if status == http.StatusOK {
				winner = i
			}
		}
		if left := staged(t, cfg); len(left) != 1 {
			t.Errorf("%d parts are kept for one chunk", len(left))
		}
		must(t, w.h.Client, "CommitFileUpload", object{"uploadId": id})
		file := must(t, w.h.Client, "ReadAgentMemoryFile", object{"agentId": w.agent, "path": "race.txt"})["file"].(object)
		if want := strings.Repeat(string(rune('a'+winner)), 100); file["content"] != want {
			t.Errorf("the file is %v, want %s", file["content"], want)
		}
	})
}

func TestUploadsAreRefusedWithTheirTexts(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		memory := func(path any) object { return object{"kind": "memory", "agentId": w.agent, "path": path} }
		attachment := func(name any) object {
			return object{"kind": "session-attachment", "sessionId": w.session, "name": name}
		}
		half := w.beginUpload("half.txt", 4)
		must(t, w.h.Client, "AppendFileUploadChunk", object{"uploadId": half, "offset": 0, "content": []byte("ab")})
		chunk := func(offset, content any) object {
			return object{"uploadId": half, "offset": offset, "content": content}
		}
		for i, c := range []struct {
			action  string
			request object
			status  int
			text    string
		}{
			{"BeginFileUpload", object{"size": 1}, 400, "Upload target is required"},
			{"BeginFileUpload", object{"size": 1, "target": "memory"}, 400, "Upload target is required"},
			{"BeginFileUpload", object{"size": 1, "target": object{}}, 400, "Unsupported upload target"},
			{"BeginFileUpload", object{"size": 1, "target": object{"kind": "disk"}}, 400, "Unsupported upload target"},
			{"BeginFileUpload", object{"size": 0, "target": memory("x")}, 400, "Upload size must be a positive integer"},
			{"BeginFileUpload", object{"size": -1, "target": memory("x")}, 400, "Upload size must be a positive integer"},
			{"BeginFileUpload", object{"size": 1.5, "target": memory("x")}, 400, "Upload size must be a positive integer"},
			{"BeginFileUpload", object{"size": "1", "target": memory("x")}, 400, "Upload size must be a positive integer"},
			{"BeginFileUpload", object{"target": memory("x")}, 400, "Upload size must be a positive integer"},
			{"BeginFileUpload", object{"size": 2<<30 + 1, "target": memory("x")}, 413, "Upload exceeds the maximum file size"},
			{"BeginFileUpload", object{"size": 100<<20 + 1, "target": attachment("x")}, 413, "Upload exceeds the maximum attachment size"},
			{"BeginFileUpload", object{"size": 1, "target": attachment(" ")}, 400, "Attachment name is required"},
			{"BeginFileUpload", object{"size": 1, "target": memory("../x")}, 400, "Memory path is invalid: it must not contain .."},
			{"BeginFileUpload", object{"size": 1, "target": memory("")}, 400, "Path is required"},
			{"BeginFileUpload", object{"size": 1, "target": memory(".")}, 400, "Memory path is required"},
			{"BeginFileUpload", object{"size": 1, "target": object{"kind": "memory", "agentId": "none", "path": "x"}}, 404, "Agent not found"},
			{"AppendFileUploadChunk", chunk(2, []byte{}), 400, "Chunk content must be non-empty bytes"},
			{"AppendFileUploadChunk", chunk(2, "text"), 400, "Chunk content must be non-empty bytes"},
			{"AppendFileUploadChunk", chunk(2, nil), 400, "Chunk content must be non-empty bytes"},
			{"AppendFileUploadChunk", chunk(2, make([]byte, 8<<20+1)), 413, "Chunk is too large"},
			{"AppendFileUploadChunk", chunk(0, []byte("x")), 409, "Chunk offset 0 does not match 2 bytes received"},
			{"AppendFileUploadChunk", chunk(3, []byte("x")), 409, "Chunk offset 3 does not match 2 bytes received"},
			{"AppendFileUploadChunk", chunk(-1, []byte("x")), 400, "Chunk offset must be a non-negative integer"},
			{"AppendFileUploadChunk", chunk(nil, []byte("x")), 400, "Chunk offset must be a non-negative integer"},
			{"AppendFileUploadChunk", chunk(2, []byte("xyz")), 400, "Upload exceeds its declared size"},
			{"AppendFileUploadChunk", object{"uploadId": "none", "offset": 0, "content": []byte("x")}, 404, "Upload not found"},
			{"AppendFileUploadChunk", object{"offset": 0, "content": []byte("x")}, 400, "Upload ID is required"},
			{"CommitFileUpload", object{"uploadId": half}, 400, "Upload has 2 of 4 bytes; cannot commit"},
			{"CommitFileUpload", object{"uploadId": "none"}, 404, "Upload not found"},
			{"AbortFileUpload", object{"uploadId": "none"}, 404, "Upload not found"},
		} {
			_, status, text := act(t, w.h.Client, c.action, c.request)
			if status != c.status || text != c.text {
				t.Errorf("%d %s %.120s: %d %q, want %d %q", i, c.action, fmt.Sprint(c.request), status, text, c.status, c.text)
			}
		}
		// A whole chunk of the largest size fits, and one of the largest files may begin.
		w.beginUpload("huge.bin", 2<<30)
		large := w.beginUpload("large.bin", 8<<20)
		must(t, w.h.Client, "AppendFileUploadChunk", object{"uploadId": large, "offset": 0, "content": make([]byte, 8<<20)})
		// Given up, it is gone; so is one whose session is.
		must(t, w.h.Client, "AbortFileUpload", object{"uploadId": half})
		gone := must(t, w.h.Client, "BeginFileUpload", object{"size": 1, "target": attachment("x")})["uploadId"]
		must(t, w.h.Client, "DeleteSession", object{"sessionId": w.session})
		for _, id := range []any{half, gone} {
			if _, status, text := act(t, w.h.Client, "CommitFileUpload", object{"uploadId": id}); status != 404 || text != wire.MsgUploadNotFound {
				t.Errorf("an upload that is gone: %d %s", status, text)
			}
		}
	})
}

func TestAnAccountHasEightUploadsOpen(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := world{h: servertest.Start(t, cfg)}
		w.agent = w.h.Agent(servertest.Scripted(t))
		target := object{"kind": "memory", "agentId": w.agent, "path": "x"}
		var mu sync.Mutex
		var open []string
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				out, status, text := act(t, w.h.Client, "BeginFileUpload", object{"size": 1, "target": target, "attempt": i})
				mu.Lock()
				defer mu.Unlock()
				if status == http.StatusOK {
					open = append(open, out["uploadId"].(string))
				} else if status != http.StatusTooManyRequests || text != "Too many uploads in progress" {
					t.Errorf("one too many: %d %s", status, text)
				}
			})
		}
		wg.Wait()
		if len(open) != 8 {
			t.Fatalf("%d uploads are open", len(open))
		}
		must(t, w.h.Client, "AbortFileUpload", object{"uploadId": open[0]})
		w.beginUpload("x", 1)
	})
}

func TestAFileThatIsTooLargeForOneAnswerIsReadInParts(t *testing.T) {
	t.Parallel()
	w := world{h: servertest.Start(t, server.Config{})}
	w.agent = w.h.Agent(servertest.Scripted(t))
	const size, chunk = 33 << 20, 8 << 20
	content := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	id := w.beginUpload("large.txt", size)
	for offset := 0; offset < size; offset += chunk {
		must(t, w.h.Client, "AppendFileUploadChunk", object{"uploadId": id, "offset": offset, "content": content[offset:min(offset+chunk, size)]})
	}
	must(t, w.h.Client, "CommitFileUpload", object{"uploadId": id})
	read := func(more object) (object, int, string) {
		request := object{"agentId": w.agent, "path": "large.txt"}
		for k, v := range more {
			request[k] = v
		}
		return act(t, w.h.Client, "ReadAgentMemoryFile", request)
	}
	if _, status, text := read(nil); status != 413 || !strings.Contains(text, "read it in parts, with offset and length") {
		t.Errorf("the file whole: %d %s", status, text)
	}
	for _, c := range []struct {
		request    object
		begin, end int
	}{
		{object{"offset": 0, "length": 5}, 0, 5}, {object{"offset": size - 3}, size - 3, size}, {object{"offset": size}, size, size},
		{object{"length": chunk}, 0, chunk}, {object{"offset": 17}, 17, 17 + chunk},
	} {
		out, status, text := read(c.request)
		file, _ := out["file"].(object)
		data, _ := file["data"].([]byte)
		if status != 200 || file["size"] != int64(size) || file["encoding"] != "binary" || !bytes.Equal(data, content[c.begin:c.end]) {
			t.Errorf("%v: %d %s, %d bytes", c.request, status, text, len(data))
		}
	}
	for _, bad := range []object{{"offset": -1}, {"offset": size + 1}, {"length": 0}, {"length": chunk + 1}} {
		if _, status, _ := read(bad); status != 400 {
			t.Errorf("%v: %d", bad, status)
		}
	}
}

func TestAServerSweepsWhatTheOneBeforeHasLeft(t *testing.T) {
	t.Parallel()
	cfg := server.Config{DataDir: t.TempDir()}
	w := world{h: servertest.Start(t, cfg)}
	w.agent = w.h.Agent(servertest.Scripted(t))
	id := w.beginUpload("kept.txt", 2)
	must(t, w.h.Client, "AppendFileUploadChunk", object{"uploadId": id, "offset": 0, "content": []byte("x")})
	w.h.Stop()
	kept := staged(t, cfg)
	orphan := filepath.Join(cfg.DataDir, "blobs", "staged", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if err := os.WriteFile(orphan, []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(orphan, past, past); err != nil {
		t.Fatal(err)
	}
	h := servertest.Start(t, cfg)
	// The sweep works beside the requests.
	const patience = 10_000
	for i := 0; len(staged(t, cfg)) > 1; i++ {
		if i == patience {
			t.Fatal("the part that no upload names is still there")
		}
		must(t, h.Client, "ListAgents", object{"attempt": i})
	}
	if left := staged(t, cfg); len(kept) != 1 || left[0] != kept[0] {
		t.Errorf("of the parts %v is left, want %v", left, kept)
	}
	must(t, h.Client, "AppendFileUploadChunk", object{"uploadId": id, "offset": 1, "content": []byte("y")})
	must(t, h.Client, "CommitFileUpload", object{"uploadId": id})
}
