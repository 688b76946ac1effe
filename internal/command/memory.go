package command

import (
	"context"
	"errors"
	"fmt"
	"io"
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
		return fmt.Errorf("%s is no text: send it to a file (loam memory read %s > FILE)", c.Path, quoted(c.Path))
	}
	_, err = a.out.Write(reply.File.Data)
	return err
}

type memoryWrite struct {
	ofAgent
	Path string `arg:"" help:"Path of the file, such as notes/tea.md."`
	From string `help:"Take the bytes of this file instead of standard input." placeholder:"FILE"`
}

// maxMemoryFile bounds what is read for one file, in bytes; the server decides what it takes.
const maxMemoryFile = 64 << 20

// Run writes a file, in place of the one that is there.
func (c *memoryWrite) Run(ctx context.Context, a *app) error {
	raw, err := c.read(a)
	if err != nil {
		return err
	}
	cl, agent, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	var content any = raw
	if utf8.Valid(raw) {
		content = string(raw)
	}
	if _, err := cl.Do(ctx, map[string]any{"_": "WriteAgentMemoryFile", "agentId": agent.ID, "path": c.Path, "content": content}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "wrote %s (%s)\n", printable(c.Path), size(int64(len(raw))))
	return err
}

func (c *memoryWrite) read(a *app) ([]byte, error) {
	from := io.Reader(a.in)
	if c.From != "" {
		f, err := os.Open(c.From)
		if err != nil {
			return nil, exitcode.With(exitcode.Usage, err)
		}
		defer f.Close()
		from = f
	}
	raw, err := io.ReadAll(io.LimitReader(from, maxMemoryFile+1))
	if err == nil && len(raw) > maxMemoryFile {
		err = errors.New("the file is larger than 64 MiB")
	}
	return raw, err
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
