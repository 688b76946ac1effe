-- min_compatible: 1

-- The tool documents of an agent: copies of the builtin contracts, what it or a person wrote, and what its MCP servers offer.
-- document is JSON; cid is the address of its canonical bytes.
CREATE TABLE tool_documents (
  agent_id   TEXT NOT NULL,
  name       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  server     TEXT NOT NULL,
  cid        TEXT NOT NULL,
  document   TEXT NOT NULL,
  enabled    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (agent_id, name)
) STRICT, WITHOUT ROWID;

-- revision grows with every change of an agent's documents, so that whoever keeps them in memory knows when to read them again.
CREATE TABLE tool_shelves (
  agent_id TEXT PRIMARY KEY,
  revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
