-- min_compatible: 1

-- MCP servers of an account. config holds no secret; tools is what the last good discovery found.
CREATE TABLE mcp_servers (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  name       TEXT NOT NULL,
  config     TEXT NOT NULL,
  state      TEXT NOT NULL DEFAULT 'unknown',
  error      TEXT NOT NULL DEFAULT '',
  checked_at BIGINT NOT NULL DEFAULT 0,
  tools      TEXT NOT NULL DEFAULT '[]',
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  UNIQUE (account_id, name)
);
