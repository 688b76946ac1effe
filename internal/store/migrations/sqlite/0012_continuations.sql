-- min_compatible: 1

-- Conversations that went on in fresh ones. A session continues one other at most; a call of a model makes one successor, however
-- often it is carried out.
CREATE TABLE session_continuations (
  successor_id        TEXT PRIMARY KEY,
  predecessor_id      TEXT NOT NULL,
  id                  TEXT NOT NULL,
  tool_call_id        TEXT NOT NULL,
  run_id              TEXT NOT NULL,
  initiating_event_id TEXT NOT NULL,
  reason              TEXT NOT NULL,
  manifest            TEXT NOT NULL,
  created_at          INTEGER NOT NULL,
  UNIQUE (predecessor_id, tool_call_id)
) STRICT, WITHOUT ROWID;

-- The verbs that people are using right now, one in a session. epoch is that of the process that carries it out: a row of a process
-- that is dead says nothing.
CREATE TABLE person_actions (
  session_id TEXT PRIMARY KEY,
  epoch      INTEGER NOT NULL,
  began_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
