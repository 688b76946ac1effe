-- min_compatible: 1
-- derived: thread_index
-- derived: thread_indexed

-- The words of messages, for the search over an agent's threads. All of it is made anew from the log when it is missing.
CREATE TABLE thread_index (
  id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_id TEXT NOT NULL,
  agent_id   TEXT NOT NULL,
  seq        BIGINT NOT NULL,
  words      TSVECTOR NOT NULL
);
CREATE INDEX thread_index_session ON thread_index (session_id, seq);
CREATE INDEX thread_index_words ON thread_index USING GIN (words);

-- How far the log of a session is indexed.
CREATE TABLE thread_indexed (
  session_id TEXT PRIMARY KEY,
  upto       BIGINT NOT NULL
);
