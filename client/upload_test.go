package client_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/loam-agents/loam/client"
	loam "github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

func TestAFileGoesUpInChunksWithAKeyAndWithAToken(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, loam.Config{})
	agent := h.Agent(servertest.Scripted(t))
	session := h.Session(agent)
	content := bytes.Repeat([]byte("abc\x00"), 9<<20/4)
	size := int64(len(content))
	memory := wire.FileUploadTarget{Kind: wire.UploadMemory, AgentID: agent, Path: "big.bin"}
	for name, c := range map[string]*client.Client{"key": h.Client, "token": withToken(t, h)} {
		out, err := c.Upload(t.Context(), memory, size, bytes.NewReader(content))
		if err != nil || out.Entry == nil || out.Entry.Size != size {
			t.Fatalf("%s: %+v, %v", name, out, err)
		}
		file := call[wire.ReadAgentMemoryFileResponse](t, c, "ReadAgentMemoryFile", wire.MemoryFileRequest{AgentID: agent, Path: "big.bin"}).File
		if !bytes.Equal(file.Data, content) {
			t.Errorf("%s: %d other bytes came back", name, len(file.Data))
		}
		attachment := wire.FileUploadTarget{Kind: wire.UploadAttachment, SessionID: session, Name: "b.bin"}
		if out, err := c.Upload(t.Context(), attachment, size, bytes.NewReader(content)); err != nil || out.Attachment == nil {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
		for why, from := range map[string]io.Reader{"short": strings.NewReader("x"), "long": bytes.NewReader(append(content, 'x'))} {
			// More often than an account may have uploads open: each is given up.
			for range 5 {
				_, err := c.Upload(t.Context(), memory, size, from)
				if refused, ok := errors.AsType[*client.Error](err); err == nil || ok {
					t.Fatalf("%s, %s: %v", name, why, refused)
				}
			}
		}
	}
}
