package ipfs

import (
	"context"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/hypermedia"
	files "github.com/loam-agents/loam/internal/memory"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// maxObject bounds the text of an object in bytes (seeds/000 "write").
const maxObject = 256 << 10

// published is a result of something that has happened already.
type published space.Result

// Apply implements space.Change.
func (p published) Apply(store.Tx) (space.Result, error) { return space.Result(p), nil }

// Write implements space.Writer: it publishes a file or an object.
func (s *Scheme) Write(ctx context.Context, scope space.Scope, req space.WriteRequest) (space.Change, error) {
	if err := space.KnownOptions(req.Options, prefix+" writes", "fromPath", "fromAttachment"); err != nil {
		return nil, err
	}
	if strings.Trim(strings.TrimPrefix(req.Address, prefix), "/") != "" {
		return nil, fault.Invalid("What is published gets its address from its content: write to %s itself", prefix)
	}
	if !agent.GrantsOf(scope.Definition, nil).Publish {
		return nil, fault.New(fault.PermissionDenied, "You are not granted to publish: your owner can grant `publish`. Do not try again; tell the user")
	}
	path, isPath := req.Options["fromPath"].(string)
	id, isID := req.Options["fromAttachment"].(string)
	switch {
	case isPath == isID && req.Content == nil || isPath && isID || (isPath || isID) && req.Content != nil:
		return nil, fault.Invalid("Give one of options.fromPath, options.fromAttachment, both texts, or content")
	case (isPath || isID) && req.DryRun != nil:
		return nil, fault.Invalid("dryRun is not supported for files")
	case s.opts.Server == nil:
		return nil, hypermedia.Absent()
	case isPath:
		return s.fromMemory(ctx, scope, path)
	case isID:
		return s.fromAttachment(ctx, scope, id)
	}
	return s.object(ctx, *req.Content, req.DryRun != nil && *req.DryRun)
}

func (s *Scheme) fromMemory(ctx context.Context, scope space.Scope, path string) (space.Change, error) {
	path, err := files.Normalize(strings.TrimPrefix(path, "~/memory/"))
	if err != nil {
		return nil, err
	}
	var f files.File
	err = s.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		f, err = files.Stat(tx, scope.Agent, path)
		return err
	})
	if err != nil {
		return nil, err
	}
	data, err := s.bytes(ctx, f.Hash, f.Size)
	if err != nil {
		return nil, err
	}
	return s.file(ctx, data, published{"path": path, "mimeType": f.MimeType})
}

func (s *Scheme) fromAttachment(ctx context.Context, scope space.Scope, id string) (space.Change, error) {
	if scope.Session == "" {
		return nil, fault.Invalid("There is no conversation here that could have files")
	}
	var a wire.AttachmentInfo
	err := s.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		a, err = sessionlog.GetAttachment(tx, scope.Session, strings.TrimPrefix(id, "attachment:"))
		return err
	})
	if err != nil {
		return nil, err
	}
	data, err := s.bytes(ctx, a.ID, a.Size)
	if err != nil {
		return nil, err
	}
	return s.file(ctx, data, published{"id": a.ID, "name": a.Name, "mimeType": a.MimeType})
}

func (s *Scheme) bytes(ctx context.Context, hash string, size int64) ([]byte, error) {
	if size > hypermedia.MaxFile {
		return nil, fault.New(fault.TooLarge, "The file is too large to publish: at most %d bytes", hypermedia.MaxFile).With("limit", hypermedia.MaxFile)
	}
	data, err := s.opts.Blobs.ReadAll(ctx, hash, size)
	if err != nil {
		return nil, fmt.Errorf("read a file to publish: %w", err)
	}
	return data, nil
}

func (s *Scheme) file(ctx context.Context, data []byte, out published) (space.Change, error) {
	blobs, err := hypermedia.File(data)
	if err != nil {
		return nil, fmt.Errorf("cut a file: %w", err)
	}
	return s.publish(ctx, blobs, len(data), out)
}

func (s *Scheme) object(ctx context.Context, content string, dry bool) (space.Change, error) {
	if len(content) > maxObject {
		return nil, fault.New(fault.TooLarge, "The object is too large: at most %d bytes", maxObject).With("limit", maxObject)
	}
	blob, err := hypermedia.Object(content)
	if err != nil {
		return nil, fault.Invalid("Content must be an object in DAG-JSON: %v", err)
	}
	if dry {
		return published{"summary": "The object was checked and not published", "cid": blob.CID.String(), "url": prefix + blob.CID.String(), "size": len(blob.Data), "dryRun": true}, nil
	}
	return s.publish(ctx, []hypermedia.Blob{blob}, len(blob.Data), published{})
}

func (s *Scheme) publish(ctx context.Context, blobs []hypermedia.Blob, size int, out published) (space.Change, error) {
	if err := s.opts.Server.Publish(ctx, blobs...); err != nil {
		return nil, hypermedia.Explain(err)
	}
	cid := blobs[0].CID.String()
	out["summary"], out["cid"], out["url"], out["size"] = fmt.Sprintf("Published %s%s (%d bytes)", prefix, cid, size), cid, prefix+cid, size
	if out["mimeType"] == "" {
		delete(out, "mimeType")
	}
	return out, nil
}
