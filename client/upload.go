package client

import (
	"context"
	"fmt"
	"io"

	"github.com/loam-agents/loam/wire"
)

// uploadChunk is how many bytes of a file are sent at once, unless the server takes fewer.
const uploadChunk = 4 << 20

// Upload sends a file of size bytes in chunks, and returns what became of it. from is read to its end; when it holds more or
// fewer bytes the upload is given up. A file of up to uploadChunk bytes is sent with fewer requests by WriteAgentMemoryFile or
// UploadSessionAttachment. Errors are those of Do and of from.
func (c *Client) Upload(ctx context.Context, target wire.FileUploadTarget, size int64, from io.Reader) (wire.CommitFileUploadResponse, error) {
	begun, err := Call[wire.BeginFileUploadResponse](ctx, c, "BeginFileUpload", wire.BeginFileUploadRequest{Target: target, Size: size})
	if err != nil {
		return wire.CommitFileUploadResponse{}, err
	}
	id := wire.FileUploadRequest{UploadID: begun.UploadID}
	if err := c.appendChunks(ctx, begun, size, from); err != nil {
		// It would end by itself after an hour; until then it takes one of few places.
		_, _ = Call[wire.FileUploadRequest](context.WithoutCancel(ctx), c, "AbortFileUpload", id)
		return wire.CommitFileUploadResponse{}, err
	}
	return Call[wire.CommitFileUploadResponse](ctx, c, "CommitFileUpload", id)
}

func (c *Client) appendChunks(ctx context.Context, begun wire.BeginFileUploadResponse, size int64, from io.Reader) error {
	chunk := make([]byte, min(uploadChunk, max(begun.MaxChunkBytes, 1)))
	for offset := int64(0); offset < size; {
		n, err := io.ReadFull(from, chunk[:min(int64(len(chunk)), size-offset)])
		if err != nil {
			return fmt.Errorf("client: upload after %d of %d bytes: %w", offset+int64(n), size, err)
		}
		request := wire.AppendFileUploadChunkRequest{UploadID: begun.UploadID, Offset: offset, Content: chunk[:n]}
		reply, err := Call[wire.AppendFileUploadChunkResponse](ctx, c, "AppendFileUploadChunk", request)
		if err != nil {
			return err
		}
		offset = reply.Received
	}
	if n, _ := io.ReadFull(from, chunk[:1]); n > 0 {
		return fmt.Errorf("client: upload: the file has more than %d bytes", size)
	}
	return nil
}
