-- min_compatible: 1

-- Calls that a person was asked about. call is the id of a tool call of a turn, or the number of a group in a script's journal. The
-- answer holds for this tool document (tool_cid) with these arguments in this run only. begun_at is when the call was carried out.
CREATE TABLE approvals (
  id          TEXT NOT NULL PRIMARY KEY,
  account_id  TEXT NOT NULL,
  agent_id    TEXT NOT NULL,
  session_id  TEXT NOT NULL DEFAULT '',
  run_id      TEXT NOT NULL,
  root_run_id TEXT NOT NULL,
  call        TEXT NOT NULL,
  tool        TEXT NOT NULL,
  tool_cid    TEXT NOT NULL,
  arguments   TEXT NOT NULL,
  in_doubt    INTEGER NOT NULL DEFAULT 0,
  status      TEXT NOT NULL,
  note        TEXT NOT NULL DEFAULT '',
  decided_by  TEXT NOT NULL DEFAULT '',
  created_at  INTEGER NOT NULL,
  decided_at  INTEGER NOT NULL DEFAULT 0,
  begun_at    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX approvals_run ON approvals (run_id, call);
CREATE INDEX approvals_account ON approvals (account_id, created_at);
CREATE INDEX approvals_agent ON approvals (agent_id, created_at);
CREATE INDEX approvals_session ON approvals (session_id) WHERE session_id <> '';
