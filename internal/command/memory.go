package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

type memoryCommand struct {
	List   memoryList   `cmd:"" default:"withargs" help:"List the files of an agent's memory."`
	Read   memoryRead   `cmd:"" help:"Print a file."`
	Write  memoryWrite  `cmd:"" help:"Write a file from standard input or another file."`
	Delete memoryDelete `cmd:"" help:"Delete a file or a folder."`
}

type memoryList struct {
	ofAgent
	Folder string `arg:"" optional:"" help:"Only what lies in this folder."`
	JSON   bool   `help:"Print JSON."`
}

// Run lists files.
func (c *memoryList) Run(ctx context.Context, a *app) error {
	cl, agent, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.ListAgentMemoryResponse](ctx, cl, "ListAgentMemory", map[string]any{"agentId": agent.ID})
	if err != nil {
		return err
	}
	folder := strings.Trim(c.Folder, "/")
	entries := []wire.MemoryEntry{}
	for _, e := range reply.Entries {
		if folder == "" || e.Path == folder || strings.HasPrefix(e.Path, folder+"/") {
			entries = append(entries, e)
		}
	}
	if c.JSON {
		return a.printJSON(entries)
	}
	var rows [][]string
	for _, e := range entries {
		path, bytes := e.Path, size(e.Size)
		if e.Type != "file" {
			path, bytes = path+"/", ""
		}
		rows = append(rows, []string{path, bytes, when(e.UpdatedAt)})
	}
	if err := a.table(agent.Definition.Name+" remembers nothing there.", []string{"FILE", "SIZE", "UPDATED"}, rows); err != nil {
		return err
	}
	if reply.Truncated {
		fmt.Fprintln(a.err, "loam: there are more files than the server lists")
	}
	return nil
}

type memoryRead struct {
	ofAgent
	Path string `arg:"" help:"Path of the file, such as notes/tea.md."`
	JSON bool   `help:"Print JSON."`
}

// Run prints a file byte for byte.
func (c *memoryRead) Run(ctx context.Context, a *app) error {
	cl, agent, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.ReadAgentMemoryFileResponse](ctx, cl, "ReadAgentMemoryFile", wire.MemoryFileRequest{AgentID: agent.ID, Path: c.Path})
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status == http.StatusRequestEntityTooLarge && !c.JSON {
		return c.inParts(ctx, a, cl, agent.ID)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(reply.File)
	}
	if reply.File.Content != nil {
		_, err = io.WriteString(a.out, *reply.File.Content)
		return err
	}
	if isTerminal(a.out) {
		return c.noText()
	}
	_, err = a.out.Write(reply.File.Data)
	return err
}

func (c *memoryRead) noText() error {
	return fmt.Errorf("%s is no text: send it to a file (loam memory read %s > FILE)", c.Path, quoted(c.Path))
}

// inParts prints a file that is too large for one answer.
func (c *memoryRead) inParts(ctx context.Context, a *app, cl *client.Client, agentID string) error {
	if isTerminal(a.out) {
		return c.noText()
	}
	for offset, size := int64(0), int64(1); offset < size; {
		request := wire.ReadAgentMemoryFileRequest{AgentID: agentID, Path: c.Path, Offset: &offset}
		reply, err := client.Call[wire.ReadAgentMemoryFileResponse](ctx, cl, "ReadAgentMemoryFile", request)
		if err != nil {
			return err
		}
		if len(reply.File.Data) == 0 {
			return fmt.Errorf("%s became shorter while it was read", c.Path)
		}
		if _, err := a.out.Write(reply.File.Data); err != nil {
			return err
		}
		offset, size = offset+int64(len(reply.File.Data)), reply.File.Size
	}
	return nil
}

type memoryWrite struct {
	ofAgent
	Path string `arg:"" help:"Path of the file, such as notes/tea.md."`
	From string `help:"Take the bytes of this file instead of standard input." placeholder:"FILE"`
}

// maxPiped bounds what is read from standard input, and wholeFile is up to which size a file is sent at once.
const (
	maxPiped  = 64 << 20
	wholeFile = 4 << 20
)

// Run writes a file, in place of the one that is there.
func (c *memoryWrite) Run(ctx context.Context, a *app) error {
	from, length, err := c.open(a)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	cl, agent, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	if err := c.send(ctx, cl, agent.ID, from, length); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "wrote %s (%s)\n", printable(c.Path), size(length))
	return err
}

func (c *memoryWrite) send(ctx context.Context, cl *client.Client, agentID string, from io.Reader, length int64) error {
	if length > wholeFile {
		_, err := cl.Upload(ctx, wire.FileUploadTarget{Kind: wire.UploadMemory, AgentID: agentID, Path: c.Path}, length, from)
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(from, length))
	if err != nil {
		return err
	}
	var content any = raw
	if utf8.Valid(raw) {
		content = string(raw)
	}
	_, err = cl.Do(ctx, map[string]any{"_": "WriteAgentMemoryFile", "agentId": agentID, "path": c.Path, "content": content})
	return err
}

// open returns the bytes to write and how many they are. Standard input is read first: its length is not known before its end.
func (c *memoryWrite) open(a *app) (io.ReadCloser, int64, error) {
	if c.From == "" {
		raw, err := io.ReadAll(io.LimitReader(a.in, maxPiped+1))
		if err == nil && len(raw) > maxPiped {
			err = errors.New("standard input is longer than 64 MiB: write it to a file and use --from FILE")
		}
		return io.NopCloser(bytes.NewReader(raw)), int64(len(raw)), err
	}
	f, err := os.Open(c.From)
	if err != nil {
		return nil, 0, exitcode.With(exitcode.Usage, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file: send it to standard input", c.From)
	}
	if err != nil {
		return nil, 0, exitcode.With(exitcode.Usage, errors.Join(err, f.Close()))
	}
	return f, info.Size(), nil
}

type memoryDelete struct {
	ofAgent
	sure
	Path string `arg:"" help:"Path of the file or folder."`
}

// Run deletes a file or a folder with what lies in it.
func (c *memoryDelete) Run(ctx context.Context, a *app) error {
	cl, agent, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	if err := c.confirm(a, c.Path+" from the memory of "+agent.Definition.Name); err != nil {
		return err
	}
	reply, err := client.Call[wire.DeleteAgentMemoryFileResponse](ctx, cl, "DeleteAgentMemoryFile", wire.MemoryFileRequest{AgentID: agent.ID, Path: c.Path})
	if err != nil {
		return err
	}
	if !reply.Deleted {
		return fmt.Errorf("there is no file %q; `loam memory` lists them", c.Path)
	}
	_, err = fmt.Fprintln(a.out, "deleted "+printable(c.Path))
	return err
}
