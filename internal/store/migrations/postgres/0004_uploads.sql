-- min_compatible: 1

-- Files that arrive in chunks. kind is 'memory' (path) or 'session-attachment' (session_id, name, mime_type).
CREATE TABLE uploads (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  kind       TEXT NOT NULL,
  agent_id   TEXT NOT NULL,
  session_id TEXT NOT NULL,
  path       TEXT NOT NULL,
  name       TEXT NOT NULL,
  mime_type  TEXT NOT NULL,
  size       BIGINT NOT NULL,
  received   BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX uploads_account ON uploads (account_id, updated_at);
CREATE INDEX uploads_idle ON uploads (updated_at);

-- The chunks that count; part names the bytes.
CREATE TABLE upload_chunks (
  upload_id  TEXT NOT NULL,
  begins_at  BIGINT NOT NULL,
  size       BIGINT NOT NULL,
  part       TEXT NOT NULL UNIQUE,
  PRIMARY KEY (upload_id, begins_at)
);
