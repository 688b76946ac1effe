package operation

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/memory"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/upload"
	"github.com/loam-agents/loam/wire"
)

func uploadOperations() []Operation {
	return []Operation{
		{Name: "BeginFileUpload", Response: "BeginFileUploadResponse", Access: Write, Effect: Mutation, Since: "0.2", handle: beginUpload,
			Route: &Route{Method: "POST", Path: "/uploads", Summary: "Begin to upload a large file", Status: http.StatusCreated,
				Note:    "At most 2 GiB for an agent's memory and 100 MiB for a session. Uploads that nobody goes on with end after an hour.",
				Request: wire.BeginFileUploadRequest{}, Reply: wire.BeginFileUploadResponse{}}},
		{Name: "AppendFileUploadChunk", Response: "AppendFileUploadChunkResponse", Access: Write, Effect: Mutation, Since: "0.2", handle: appendUpload, prepares: true,
			Route: &Route{Method: "PUT", Path: "/uploads/{uploadId}", Summary: "Upload the next chunk of a file", Kind: Upload,
				Note:    "The body is at most 8 MiB. A conflict's details say how many bytes were received: go on there.",
				Request: ChunkFields{}, Reply: wire.AppendFileUploadChunkResponse{}}},
		{Name: "CommitFileUpload", Response: "CommitFileUploadResponse", Access: Write, Effect: Mutation, Since: "0.2", handle: commitUpload, prepares: true,
			Route: &Route{Method: "POST", Path: "/uploads/{uploadId}/commit", Summary: "Make the file whose chunks were uploaded",
				Request: wire.FileUploadRequest{}, Reply: wire.CommitFileUploadResponse{}}},
		{Name: "AbortFileUpload", Response: "AbortFileUploadResponse", Access: Write, Effect: Mutation, Since: "0.2", handle: abortUpload,
			Route: &Route{Method: "DELETE", Path: "/uploads/{uploadId}", Summary: "Give an upload up",
				Request: wire.FileUploadRequest{}, Reply: wire.FileUploadRequest{}}},
	}
}

// ChunkFields name the place of a chunk.
type ChunkFields struct {
	UploadID string `json:"uploadId"`
	// Offset is the number of bytes that were received before.
	Offset int64 `json:"offset"`
}

func beginUpload(ctx context.Context, c *Call) (Result, error) {
	fields, ok := c.fields["target"].(map[string]any)
	if !ok {
		return Result{}, fault.Invalid(wire.MsgUploadTarget).With("field", "target")
	}
	size, ok := c.fields["size"].(int64)
	if !ok || size < 1 {
		return Result{}, fault.Invalid(wire.MsgUploadSize).With("field", "size")
	}
	target, err := c.uploadTarget(fields, size)
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		found, err := c.onTarget(tx, &target)
		if err != nil {
			return nil, err
		}
		u := upload.Upload{ID: c.opts.IDs(), Account: found.agent.Account, Target: target, Size: size, CreatedAt: clock.Millis(c.opts.Clock)}
		if err := upload.Begin(tx, u); err != nil {
			return nil, err
		}
		// The whole size counts from now on, so that nobody uploads what cannot be kept.
		return wire.BeginFileUploadResponse{UploadID: u.ID, MaxChunkBytes: upload.MaxChunk}, c.opts.Quota.Stored(tx, u.Account)
	})
}

// uploadTarget checks what can be said of a target without a look at its agent.
func (c *Call) uploadTarget(fields map[string]any, size int64) (t upload.Target, err error) {
	var req wire.BeginFileUploadRequest
	if err := c.bind(&req); err != nil {
		return t, err
	}
	in := &req.Target
	switch t.Kind = in.Kind; t.Kind {
	case wire.UploadMemory:
		if size > memory.MaxStreamBytes {
			return t, fault.New(fault.TooLarge, wire.MsgUploadFileSize).With("limit", memory.MaxStreamBytes)
		}
		if t.Agent, err = bounded.Name(in.AgentID, "Agent ID"); err != nil {
			return t, err
		}
		if _, err = bounded.Text(in.Path, "Path", memory.MaxPath); err != nil {
			return t, err
		}
		if t.Path, err = memory.Normalize(in.Path); err == nil && t.Path == "" {
			err = fault.Invalid("Memory path is required")
		}
		return t, err
	case wire.UploadAttachment:
		if size > sessionlog.MaxAttachmentBytes {
			return t, fault.New(fault.TooLarge, wire.MsgUploadAttachmentSize).With("limit", sessionlog.MaxAttachmentBytes)
		}
		if t.Session, err = bounded.Name(in.SessionID, "Session ID"); err != nil {
			return t, err
		}
		if t.Name, err = bounded.Name(in.Name, "Attachment name"); err != nil || strings.TrimSpace(in.MimeType) == "" {
			return t, err
		}
		t.MimeType, err = bounded.Name(in.MimeType, "Attachment type")
		return t, err
	}
	return t, fault.Invalid(wire.MsgUploadUnsupported).With("kind", fields["kind"])
}

// onTarget resolves the agent that an upload is for.
func (c *Call) onTarget(tx store.Tx, t *upload.Target) (access, error) {
	if t.Kind == wire.UploadAttachment {
		s, found, err := c.onSession(tx, t.Session)
		t.Agent = s.Agent
		return found, err
	}
	return c.onAgent(tx, t.Agent, wire.MsgAgentNotFound)
}

// onUpload resolves an upload and its agent. An upload that the caller may not see does not exist for it, nor does one whose
// agent or session is gone.
func (c *Call) onUpload(tx store.Tx, id string) (upload.Upload, error) {
	u, err := upload.Get(tx, id, clock.Millis(c.opts.Clock))
	if err != nil {
		return u, err
	}
	if _, err = c.onTarget(tx, &u.Target); fault.CodeOf(err) == fault.NotFound {
		err = fault.Missing(wire.MsgUploadNotFound)
	}
	return u, err
}

func (c *Call) uploadID() (string, error) {
	var req wire.FileUploadRequest
	if err := c.bind(&req); err != nil {
		return "", err
	}
	return bounded.Name(req.UploadID, "Upload ID")
}

// chunk is a piece of an upload and its place.
type chunk struct {
	upload  string
	offset  int64
	content []byte
}

func (c *Call) chunk() (p chunk, err error) {
	if p.upload, err = c.uploadID(); err != nil {
		return p, err
	}
	var bytes, whole bool
	p.content, bytes = c.fields["content"].([]byte)
	p.offset, whole = c.fields["offset"].(int64)
	switch {
	case !bytes || len(p.content) == 0:
		return p, fault.Invalid(wire.MsgChunkContent).With("field", "content")
	case len(p.content) > upload.MaxChunk:
		return p, fault.New(fault.TooLarge, wire.MsgChunkTooLarge).With("limit", upload.MaxChunk)
	case !whole || p.offset < 0:
		return p, fault.Invalid("Chunk offset must be a non-negative integer").With("field", "offset")
	}
	return p, nil
}

// fits resolves the upload of a chunk and decides whether the chunk is the next one.
func (c *Call) fits(tx store.Tx, p chunk) (upload.Upload, error) {
	u, err := c.onUpload(tx, p.upload)
	if err != nil {
		return u, err
	}
	return u, u.Fits(p.offset, int64(len(p.content)))
}

func appendUpload(ctx context.Context, c *Call) (Result, error) {
	p, err := c.chunk()
	if err != nil {
		return Result{}, err
	}
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		_, err := c.fits(tx, p)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	part, err := c.opts.Blobs.Stage(ctx, bytes.NewReader(p.content))
	if err != nil {
		return Result{}, err
	}
	counted := false
	out, err := c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		counted = false
		u, err := c.fits(tx, p)
		if err != nil {
			return nil, err
		}
		received, err := upload.Append(tx, u, part, int64(len(p.content)), clock.Millis(c.opts.Clock))
		counted = err == nil
		return wire.AppendFileUploadChunkResponse{UploadID: p.upload, Received: received}, err
	})
	if !counted {
		// Nothing names the part. When the outcome is not known it stays, and the sweep decides.
		c.unstage(ctx, part)
	}
	return out, err
}

// unstage removes parts that no row names any more. What cannot be removed now is swept later.
func (c *Call) unstage(ctx context.Context, parts ...string) {
	for _, part := range parts {
		if err := c.opts.Blobs.Unstage(context.WithoutCancel(ctx), part); err != nil {
			c.opts.Logger.WarnContext(ctx, "remove a part of an upload", "error", err)
		}
	}
}

// whole is a file whose chunks were put together, before its row.
type whole struct {
	parts      []string
	file       memory.Prepared
	attachment sessionlog.Attachment
}

// commitUpload makes the file. Whoever repeats it, because the answer got lost, is answered as the first time.
func commitUpload(ctx context.Context, c *Call) (Result, error) {
	id, err := c.uploadID()
	if err != nil {
		return Result{}, err
	}
	made, err := c.assemble(ctx, id)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return Result{}, err
	}
	// One that is not there may be one that was committed: the record knows.
	out, err := c.commit(ctx, once{id: &id, label: "Upload ID", request: id}, func(tx store.Tx) (any, error) {
		u, err := c.onUpload(tx, id)
		if err != nil {
			return nil, err
		}
		if err := u.Whole(); err != nil {
			return nil, err
		}
		if len(made.parts) == 0 {
			return nil, fault.Missing(wire.MsgUploadNotFound)
		}
		if err := upload.Remove(tx, id); err != nil {
			return nil, err
		}
		return c.finish(tx, &u, made)
	})
	if err == nil {
		c.unstage(ctx, made.parts...)
	}
	return out, err
}

// assemble puts the chunks of an upload together.
func (c *Call) assemble(ctx context.Context, id string) (out whole, err error) {
	var u upload.Upload
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		if u, err = c.onUpload(tx, id); err != nil {
			return err
		}
		if err := u.Whole(); err != nil {
			return err
		}
		out.parts, err = upload.Parts(tx, id)
		return err
	})
	if err != nil {
		return out, err
	}
	content := upload.Content(ctx, c.opts.Blobs, out.parts)
	defer func() { _ = content.Close() }()
	if u.Kind == wire.UploadMemory {
		out.file, err = memory.PrepareFrom(ctx, c.opts.Blobs, content)
	} else {
		out.attachment, err = c.opts.Log.PrepareAttachmentFrom(ctx, u.Name, u.MimeType, content)
	}
	if errors.Is(err, blobstore.ErrNotFound) {
		// A part went away with the folder that it was in, or another request has just committed.
		err = fault.Missing(wire.MsgUploadNotFound)
	}
	return out, err
}

// finish writes the row of a file.
func (c *Call) finish(tx store.Tx, u *upload.Upload, made whole) (wire.CommitFileUploadResponse, error) {
	if u.Kind == wire.UploadMemory {
		entry, err := c.keepFile(tx, u.Agent, u.Path, made.file)
		return wire.CommitFileUploadResponse{Entry: &entry}, err
	}
	attachment, err := c.attach(tx, u.Session, made.attachment)
	return wire.CommitFileUploadResponse{Attachment: &attachment}, err
}

func abortUpload(ctx context.Context, c *Call) (Result, error) {
	id, err := c.uploadID()
	if err != nil {
		return Result{}, err
	}
	var parts []string
	out, err := c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		if _, err := c.onUpload(tx, id); err != nil {
			return nil, err
		}
		if parts, err = upload.Parts(tx, id); err != nil {
			return nil, err
		}
		return wire.FileUploadRequest{UploadID: id}, upload.Remove(tx, id)
	})
	if err == nil {
		c.unstage(ctx, parts...)
	}
	return out, err
}
