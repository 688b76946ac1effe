package operation

import (
	"context"
	"math"
	"net/http"
	"strings"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/memory"
	"github.com/loam-agents/loam/internal/notify"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func memoryOperations() []Operation {
	return []Operation{
		{Name: "ListAgentMemory", Response: "ListAgentMemoryResponse", Access: Read, Effect: Query, Since: "0.1", handle: listMemory,
			Route: &Route{Method: "GET", Path: "/agents/{agentId}/memory", Summary: "List an agent's files",
				Note:    "With path, only the file of that path or what lies in that folder.",
				Request: MemoryListFields{}, Reply: wire.ListAgentMemoryResponse{}, present: presentMemory}},
		{Name: "ListAgentMemoryDir", Response: "ListAgentMemoryDirResponse", Access: Read, Effect: Query, Since: "0.2", handle: listMemoryDir,
			Route: &Route{Method: "GET", Path: "/agents/{agentId}/folder", Summary: "List one level of an agent's files",
				Note:    "The root when path is not given. Folders carry the number of their own entries.",
				Request: wire.ListAgentMemoryDirRequest{}, Reply: wire.ListAgentMemoryDirResponse{}}},
		{Name: "ReadAgentMemoryFile", Response: "ReadAgentMemoryFileResponse", Access: Read, Effect: Query, Since: "0.1", handle: readMemory,
			Route: &Route{Method: "GET", Path: "/agents/{agentId}/memory/{path...}", Summary: "Read a file of an agent",
				Note:    "A file of more than 32 MiB is read in parts: with offset and length, at most 8 MiB, the answer holds those bytes as data.",
				Request: wire.ReadAgentMemoryFileRequest{}, Reply: wire.ReadAgentMemoryFileResponse{}}},
		{Name: "WriteAgentMemoryFile", Response: "WriteAgentMemoryFileResponse", Access: Write, Effect: Mutation, Since: "0.1", handle: writeMemory, prepares: true,
			Route: &Route{Method: "PUT", Path: "/agents/{agentId}/memory/{path...}", Summary: "Write a file of an agent",
				Note:    "Give text as content or bytes as data.",
				Request: MemoryFields{}, Reply: wire.WriteAgentMemoryFileResponse{}, Tagged: true, shape: shapeMemory}},
		{Name: "DeleteAgentMemoryFile", Response: "DeleteAgentMemoryFileResponse", Access: Write, Effect: Mutation, Since: "0.1", handle: deleteMemory,
			Route: &Route{Method: "DELETE", Path: "/agents/{agentId}/memory/{path...}", Summary: "Delete a file or folder of an agent",
				Request: wire.MemoryFileRequest{}, Reply: wire.DeleteAgentMemoryFileResponse{}, Tagged: true}},
		{Name: "DownloadAgentMemoryFile", Response: "DownloadAgentMemoryFileResponse", Access: Write, Effect: Mutation, Since: "0.2", handle: downloadMemory, prepares: true,
			Route: &Route{Method: "POST", Path: "/agents/{agentId}/downloads", Summary: "Have the server download a file for an agent", Status: http.StatusCreated,
				Note:    "Only from public addresses, at most 2 GiB, within 30 minutes. Without a path the file goes to downloads/ under its name in the address.",
				Request: wire.DownloadAgentMemoryFileRequest{}, Reply: wire.DownloadAgentMemoryFileResponse{}}},
	}
}

func listMemory(ctx context.Context, c *Call) (Result, error) {
	agentID, err := c.agentID()
	if err != nil {
		return Result{}, err
	}
	var out wire.ListAgentMemoryResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		if _, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound); err != nil {
			return err
		}
		l, err := memory.List(tx, agentID)
		out = wire.ListAgentMemoryResponse{AgentID: agentID, Entries: l.Entries, TotalBytes: l.TotalBytes, Truncated: l.Truncated}
		return err
	})
	return Result{Value: out}, err
}

func listMemoryDir(ctx context.Context, c *Call) (Result, error) {
	var req wire.ListAgentMemoryDirRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	agentID, err := bounded.Name(req.AgentID, "Agent ID")
	if err != nil {
		return Result{}, err
	}
	path := ""
	if req.Path != nil {
		if path, err = memory.Normalize(strings.Trim(*req.Path, "/")); err != nil {
			return Result{}, err
		}
	}
	var out wire.ListAgentMemoryDirResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		if _, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound); err != nil {
			return err
		}
		l, err := memory.ListDir(tx, agentID, path)
		if err != nil {
			return err
		}
		sum, err := memory.SumUp(tx, agentID)
		out = wire.ListAgentMemoryDirResponse{
			AgentID: agentID, Path: path, Entries: l.Entries, TotalBytes: l.TotalBytes, Truncated: l.Truncated,
			Totals: wire.MemoryTotals{Bytes: sum.Bytes, Files: sum.Files},
		}
		return err
	})
	return Result{Value: out}, err
}

func (c *Call) memoryPath() (agentID, path string, err error) {
	var req wire.MemoryFileRequest
	if err := c.bind(&req); err != nil {
		return "", "", err
	}
	if agentID, err = bounded.Name(req.AgentID, "Agent ID"); err != nil {
		return "", "", err
	}
	if _, err = bounded.Text(req.Path, "Path", memory.MaxPath); err != nil {
		return "", "", err
	}
	path, err = memory.Normalize(req.Path)
	return agentID, path, err
}

func readMemory(ctx context.Context, c *Call) (Result, error) {
	agentID, path, err := c.memoryPath()
	if err != nil {
		return Result{}, err
	}
	var file memory.File
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		if _, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound); err != nil {
			return err
		}
		file, err = memory.Stat(tx, agentID, path)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	loaded, err := c.loadMemory(ctx, file)
	return Result{Value: wire.ReadAgentMemoryFileResponse{AgentID: agentID, File: loaded}, Tag: fileTag(file.Hash)}, err
}

// loadMemory fetches a file, or the part of it that was asked for.
func (c *Call) loadMemory(ctx context.Context, file memory.File) (wire.MemoryFile, error) {
	var req wire.ReadAgentMemoryFileRequest
	if err := c.bind(&req); err != nil {
		return wire.MemoryFile{}, err
	}
	if req.Offset == nil && req.Length == nil {
		if file.Size > memory.MaxFileBytes {
			return wire.MemoryFile{}, fault.New(fault.TooLarge, "Memory file is too large to be read at once: at most %d bytes; read it in parts, with offset and length",
				memory.MaxFileBytes).With("limit", memory.MaxFileBytes).With("size", file.Size)
		}
		return memory.Load(ctx, c.opts.Blobs, file)
	}
	offset, length := int64(0), int64(memory.MaxPart)
	if req.Offset != nil {
		offset = *req.Offset
	}
	if req.Length != nil {
		length = *req.Length
	}
	return memory.LoadPart(ctx, c.opts.Blobs, file, offset, length)
}

func writeMemory(ctx context.Context, c *Call) (Result, error) {
	var req wire.WriteAgentMemoryFileRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	agentID, path, err := c.memoryPath()
	if err != nil {
		return Result{}, err
	}
	prepared, err := c.prepareFile(ctx, agentID, path, req.Content)
	if err != nil {
		return Result{}, err
	}
	out, err := c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		if _, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound); err != nil {
			return nil, err
		}
		if err := c.fileUnchanged(tx, agentID, path); err != nil {
			return nil, err
		}
		entry, err := c.keepFile(tx, agentID, path, prepared)
		return wire.WriteAgentMemoryFileResponse{AgentID: agentID, Entry: entry}, err
	})
	out.Tag = fileTag(prepared.Hash)
	return out, err
}

// prepareFile keeps the bytes of a file, only for somebody who may write them.
func (c *Call) prepareFile(ctx context.Context, agentID, path string, content any) (memory.Prepared, error) {
	raw, err := memory.Bytes(content)
	if err != nil {
		return memory.Prepared{}, err
	}
	room, err := c.roomFor(ctx, agentID, path)
	if err != nil {
		return memory.Prepared{}, err
	}
	if int64(len(raw)) > room {
		return memory.Prepared{}, c.opts.Quota.NoRoom()
	}
	return memory.Prepare(ctx, c.opts.Blobs, raw)
}

// roomFor is how large a file may be that somebody who may write puts at a path: the one that is there makes room for it. An empty
// path is one that is not known yet.
func (c *Call) roomFor(ctx context.Context, agentID, path string) (room int64, err error) {
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return err
		}
		if room, err = c.opts.Quota.Room(tx, found.agent.Account); err != nil || room == math.MaxInt64 || path == "" {
			return err
		}
		// What is no file makes no room, and whether it may be written over is decided later.
		if file, err := memory.Stat(tx, agentID, path); err == nil {
			room += file.Size
		} else if fault.CodeOf(err) == fault.Internal {
			return err
		}
		return nil
	})
	return room, err
}

// fileUnchanged is unchanged of a file; what is no file has no state that a caller could have seen.
func (c *Call) fileUnchanged(tx store.Tx, agentID, path string) error {
	if c.Caller.IfMatch == "" {
		return nil
	}
	file, err := memory.Stat(tx, agentID, path)
	switch fault.CodeOf(err) {
	case "":
		return c.unchanged(fileTag(file.Hash))
	case fault.NotFound, fault.ValidationFailed:
		return c.unchanged("")
	}
	return err
}

func deleteMemory(ctx context.Context, c *Call) (Result, error) {
	agentID, path, err := c.memoryPath()
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		if err := c.fileUnchanged(tx, agentID, path); err != nil {
			return nil, err
		}
		deleted, err := memory.Delete(tx, agentID, path)
		if err != nil {
			return nil, err
		}
		if deleted {
			c.opts.Notify.AgentChanged(tx, found.agent.Account, agentID, notify.MemoryChanged)
		}
		return wire.DeleteAgentMemoryFileResponse{AgentID: agentID, Path: path, Deleted: deleted}, nil
	})
}

// download is what to fetch, and where it goes; an empty path is for the address to name.
type download struct{ agent, address, path string }

func (c *Call) download() (d download, err error) {
	var req wire.DownloadAgentMemoryFileRequest
	if err := c.bind(&req); err != nil {
		return d, err
	}
	if d.agent, err = bounded.Name(req.AgentID, "Agent ID"); err != nil {
		return d, err
	}
	if d.address, err = bounded.Text(req.URL, "URL", memory.MaxURL); err != nil || req.Path == nil {
		return d, err
	}
	if _, err := bounded.Text(*req.Path, "Path", memory.MaxPath); err != nil {
		return d, err
	}
	d.path, err = memory.Normalize(*req.Path)
	return d, err
}

func downloadMemory(ctx context.Context, c *Call) (Result, error) {
	d, err := c.download()
	if err != nil {
		return Result{}, err
	}
	// Nobody has the server fetch something who may not keep it.
	room, err := c.roomFor(ctx, d.agent, d.path)
	if err != nil {
		return Result{}, err
	}
	got, err := memory.Fetch(ctx, c.opts.Download, c.opts.Blobs, d.address, memory.Room{Bytes: room, Over: c.opts.Quota.NoRoom})
	if err != nil {
		return Result{}, err
	}
	if d.path == "" {
		d.path = got.Path
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		entry, err := c.keepFile(tx, d.agent, d.path, got.Prepared)
		return wire.DownloadAgentMemoryFileResponse{AgentID: d.agent, Entry: entry, FinalURL: got.FinalURL, ContentType: got.ContentType}, err
	})
}

// keepFile writes a file whose bytes are kept, for a caller who may write.
func (c *Call) keepFile(tx store.Tx, agentID, path string, prepared memory.Prepared) (wire.MemoryEntry, error) {
	found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
	if err != nil {
		return wire.MemoryEntry{}, err
	}
	entry, err := memory.Write(tx, agentID, path, prepared, clock.Millis(c.opts.Clock))
	if err != nil {
		return wire.MemoryEntry{}, err
	}
	c.opts.Notify.AgentChanged(tx, found.agent.Account, agentID, notify.MemoryChanged)
	return entry, c.opts.Quota.Stored(tx, found.agent.Account)
}
