-- min_compatible: 1
-- derived: thread_index
-- derived: thread_indexed

-- The words of messages, for the search over an agent's threads. All of it is made anew from the log when it is missing.
CREATE TABLE thread_index (
  id         INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL,
  agent_id   TEXT NOT NULL,
  seq        INTEGER NOT NULL
) STRICT;
CREATE INDEX thread_index_session ON thread_index (session_id, seq);
CREATE VIRTUAL TABLE thread_words USING fts5 (words, content = '', contentless_delete = 1);

-- How far the log of a session is indexed.
CREATE TABLE thread_indexed (
  session_id TEXT PRIMARY KEY,
  upto       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
