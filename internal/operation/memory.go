package operation

import (
	"context"

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
		{Name: "ReadAgentMemoryFile", Response: "ReadAgentMemoryFileResponse", Access: Read, Effect: Query, Since: "0.1", handle: readMemory,
			Route: &Route{Method: "GET", Path: "/agents/{agentId}/memory/{path...}", Summary: "Read a file of an agent",
				Request: wire.MemoryFileRequest{}, Reply: wire.ReadAgentMemoryFileResponse{}}},
		{Name: "WriteAgentMemoryFile", Response: "WriteAgentMemoryFileResponse", Access: Write, Effect: Mutation, Since: "0.1", handle: writeMemory, prepares: true,
			Route: &Route{Method: "PUT", Path: "/agents/{agentId}/memory/{path...}", Summary: "Write a file of an agent",
				Note:    "Give text as content or bytes as data.",
				Request: MemoryFields{}, Reply: wire.WriteAgentMemoryFileResponse{}, Tagged: true, shape: shapeMemory}},
		{Name: "DeleteAgentMemoryFile", Response: "DeleteAgentMemoryFileResponse", Access: Write, Effect: Mutation, Since: "0.1", handle: deleteMemory,
			Route: &Route{Method: "DELETE", Path: "/agents/{agentId}/memory/{path...}", Summary: "Delete a file or folder of an agent",
				Request: wire.MemoryFileRequest{}, Reply: wire.DeleteAgentMemoryFileResponse{}, Tagged: true}},
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
	loaded, err := memory.Load(ctx, c.opts.Blobs, file)
	return Result{Value: wire.ReadAgentMemoryFileResponse{AgentID: agentID, File: loaded}, Tag: fileTag(file.Hash)}, err
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
	prepared, err := c.prepareFile(ctx, agentID, req.Content)
	if err != nil {
		return Result{}, err
	}
	out, err := c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		if err := c.fileUnchanged(tx, agentID, path); err != nil {
			return nil, err
		}
		entry, err := memory.Write(tx, agentID, path, prepared, clock.Millis(c.opts.Clock))
		if err != nil {
			return nil, err
		}
		c.opts.Notify.AgentChanged(tx, found.agent.Account, agentID, notify.MemoryChanged)
		return wire.WriteAgentMemoryFileResponse{AgentID: agentID, Entry: entry}, nil
	})
	out.Tag = fileTag(prepared.Hash)
	return out, err
}

// prepareFile keeps the bytes of a file, only for somebody who may write them.
func (c *Call) prepareFile(ctx context.Context, agentID string, content any) (memory.Prepared, error) {
	raw, err := memory.Bytes(content)
	if err != nil {
		return memory.Prepared{}, err
	}
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		_, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		return err
	})
	if err != nil {
		return memory.Prepared{}, err
	}
	return memory.Prepare(ctx, c.opts.Blobs, raw)
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
