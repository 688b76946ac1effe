package operation

import (
	"context"
	"net/http"
	"strings"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func attachmentOperations() []Operation {
	return []Operation{
		{Name: "UploadSessionAttachment", Response: "UploadSessionAttachmentResponse", Access: Chat, Effect: Mutation, Since: "0.1", handle: uploadAttachment, prepares: true,
			Route: &Route{Method: "POST", Path: "/sessions/{sessionId}/attachments", Summary: "Add a file to a session", Kind: Upload,
				Status: http.StatusCreated, Note: "The body is the file's bytes and Content-Type its media type.",
				Request: UploadFields{}, Reply: wire.AttachmentResponse{}}},
		{Name: "ReadSessionAttachment", Response: "ReadSessionAttachmentResponse", Access: Read, Effect: Query, Since: "0.1", handle: readAttachment,
			Route: &Route{Method: "GET", Path: "/sessions/{sessionId}/attachments/{attachmentId}", Summary: "Download a file of a session",
				Kind: Download, Request: wire.ReadSessionAttachmentRequest{}, Reply: File{}, present: presentFile}},
	}
}

func uploadAttachment(ctx context.Context, c *Call) (Result, error) {
	var req wire.UploadSessionAttachmentRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	sessionID, err := bounded.Name(req.SessionID, "Session ID")
	if err != nil {
		return Result{}, err
	}
	name, err := bounded.Name(req.Name, "Attachment name")
	if err != nil {
		return Result{}, err
	}
	mime := ""
	// Browsers give files of unknown types an empty one.
	if req.MimeType != nil && strings.TrimSpace(*req.MimeType) != "" {
		if mime, err = bounded.Name(*req.MimeType, "Attachment type"); err != nil {
			return Result{}, err
		}
	}
	// The bytes are only kept for somebody who may add them.
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		_, found, err := c.onSession(tx, sessionID)
		if err != nil {
			return err
		}
		room, err := c.opts.Quota.Room(tx, found.agent.Account)
		if err == nil && int64(len(req.Content)) > room {
			err = c.opts.Quota.NoRoom()
		}
		return err
	})
	if err != nil {
		return Result{}, err
	}
	prepared, err := c.opts.Log.PrepareAttachment(ctx, name, mime, req.Content)
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		a, err := c.attach(tx, sessionID, prepared)
		return wire.AttachmentResponse{Attachment: a}, err
	})
}

// attach adds a file whose bytes are kept, for a caller who may write.
func (c *Call) attach(tx store.Tx, sessionID string, prepared sessionlog.Attachment) (wire.AttachmentInfo, error) {
	_, found, err := c.onSession(tx, sessionID)
	if err != nil {
		return wire.AttachmentInfo{}, err
	}
	a, err := c.opts.Log.Attach(tx, sessionID, prepared)
	if err != nil {
		return wire.AttachmentInfo{}, err
	}
	return a, c.opts.Quota.Stored(tx, found.agent.Account)
}

func readAttachment(ctx context.Context, c *Call) (Result, error) {
	var req wire.ReadSessionAttachmentRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	sessionID, err := bounded.Name(req.SessionID, "Session ID")
	if err != nil {
		return Result{}, err
	}
	attachmentID, err := bounded.Name(req.AttachmentID, "Attachment ID")
	if err != nil {
		return Result{}, err
	}
	var out wire.ReadSessionAttachmentResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		if _, _, err := c.onSession(tx, sessionID); err != nil {
			return err
		}
		out.Attachment, err = sessionlog.GetAttachment(tx, sessionID, attachmentID)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	out.Data, err = c.opts.Log.AttachmentData(ctx, out.Attachment)
	return Result{Value: out}, err
}
