package wire

// The kinds of upload targets.
const (
	UploadMemory     = "memory"
	UploadAttachment = "session-attachment"
)

// FileUploadTarget is what a file that arrives in chunks is for: a file of an agent's memory (kind memory, with AgentID and
// Path) or a file of a session (kind session-attachment, with SessionID, Name and MimeType).
type FileUploadTarget struct {
	Kind      string `json:"kind"`
	AgentID   string `json:"agentId,omitempty"`
	Path      string `json:"path,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
	Name      string `json:"name,omitempty"`
	MimeType  string `json:"mimeType,omitempty"`
}

// BeginFileUploadRequest opens an upload of Size bytes.
type BeginFileUploadRequest struct {
	Target FileUploadTarget `json:"target"`
	Size   int64            `json:"size"`
}

// BeginFileUploadResponse names the upload and says how long a chunk may be.
type BeginFileUploadResponse struct {
	UploadID      string `json:"uploadId"`
	MaxChunkBytes int64  `json:"maxChunkBytes"`
}

// AppendFileUploadChunkRequest adds bytes at an offset, which is the number of bytes that were received before.
type AppendFileUploadChunkRequest struct {
	UploadID string `json:"uploadId"`
	Offset   int64  `json:"offset"`
	Content  []byte `json:"content"`
}

// AppendFileUploadChunkResponse says how many bytes were received.
type AppendFileUploadChunkResponse struct {
	UploadID string `json:"uploadId"`
	Received int64  `json:"received"`
}

// FileUploadRequest names an upload.
type FileUploadRequest struct {
	UploadID string `json:"uploadId"`
}

// CommitFileUploadResponse is the file that was made, by the kind of the target.
type CommitFileUploadResponse struct {
	Entry      *MemoryEntry    `json:"entry,omitempty"`
	Attachment *AttachmentInfo `json:"attachment,omitempty"`
}

// DownloadAgentMemoryFileRequest has the server fetch a file from the network. Path is downloads/<name from the URL> when it is
// not given.
type DownloadAgentMemoryFileRequest struct {
	AgentID string  `json:"agentId"`
	URL     string  `json:"url"`
	Path    *string `json:"path,omitempty"`
}

// DownloadAgentMemoryFileResponse is the file that was written and where it came from in the end.
type DownloadAgentMemoryFileResponse struct {
	AgentID     string      `json:"agentId"`
	Entry       MemoryEntry `json:"entry"`
	FinalURL    string      `json:"finalUrl"`
	ContentType string      `json:"contentType,omitempty"`
}

// ListAgentMemoryDirRequest lists one level of a folder; the root when Path is not given.
type ListAgentMemoryDirRequest struct {
	AgentID string  `json:"agentId"`
	Path    *string `json:"path,omitempty"`
}

// ListAgentMemoryDirResponse is one level of a folder. TotalBytes is the size of everything beneath it, Totals that of the whole
// memory.
type ListAgentMemoryDirResponse struct {
	AgentID    string        `json:"agentId"`
	Path       string        `json:"path"`
	Entries    []MemoryEntry `json:"entries"`
	TotalBytes int64         `json:"totalBytes"`
	Totals     MemoryTotals  `json:"totals"`
	// Truncated says that the folder holds more than 2,000 entries.
	Truncated bool `json:"truncated,omitempty"`
}

// MemoryTotals sums up a memory. Truncated would say that not everything was counted; this server counts everything.
type MemoryTotals struct {
	Bytes     int64 `json:"bytes"`
	Files     int64 `json:"files"`
	Truncated bool  `json:"truncated"`
}
