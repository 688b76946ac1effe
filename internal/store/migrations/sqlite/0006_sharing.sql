-- min_compatible: 1

-- Who else may work with an agent. status is pending until the account accepts.
CREATE TABLE agent_collaborators (
  agent_id   TEXT NOT NULL,
  account_id TEXT NOT NULL,
  role       TEXT NOT NULL,
  status     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (agent_id, account_id)
) STRICT;
CREATE INDEX agent_collaborators_account ON agent_collaborators (account_id, status, updated_at);

-- What accounts that were not invited may do: 1 for read, and for chat on top of it.
ALTER TABLE agents ADD COLUMN public_read INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN public_chat INTEGER NOT NULL DEFAULT 0;

-- The account that opened a session, which need not be the agent's; empty when that was not recorded.
ALTER TABLE sessions ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
