-- min_compatible: 1

-- Who acts. role is 'owner' for the server owner, '' for everybody else.
CREATE TABLE accounts (
  id         TEXT PRIMARY KEY,
  role       TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);

-- Every signed mutation of the last minutes: the same bytes twice are answered once (design §10.4).
CREATE TABLE action_nonces (
  hash       TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  action     TEXT NOT NULL,
  response   BYTEA,
  expires_at BIGINT NOT NULL
);
CREATE INDEX action_nonces_expiry ON action_nonces (expires_at);

-- Client-chosen ids: the same id and request is answered once, for good.
CREATE TABLE action_idempotency (
  account_id TEXT NOT NULL,
  action     TEXT NOT NULL,
  client_id  TEXT NOT NULL,
  request    BYTEA NOT NULL,
  response   BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, action, client_id)
);

CREATE TABLE model_providers (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  name       TEXT NOT NULL,
  type       TEXT NOT NULL,
  config     TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  UNIQUE (account_id, name)
);

CREATE TABLE secrets (
  account_id TEXT NOT NULL,
  name       TEXT NOT NULL,
  id         TEXT NOT NULL,
  ciphertext BYTEA NOT NULL,
  metadata   TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, name)
);
CREATE TABLE vault_state (
  id        INTEGER PRIMARY KEY CHECK (id = 1),
  key_check BYTEA
);

-- definition is the draft; version is the newest published one.
CREATE TABLE agents (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  definition TEXT NOT NULL,
  version    BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX agents_account ON agents (account_id, updated_at);
CREATE TABLE agent_versions (
  agent_id   TEXT NOT NULL,
  version    BIGINT NOT NULL,
  definition TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (agent_id, version)
);

-- An agent's files; the bytes are in the blob store under hash.
CREATE TABLE memory_files (
  agent_id   TEXT NOT NULL,
  path       TEXT NOT NULL,
  hash       TEXT NOT NULL,
  size       BIGINT NOT NULL,
  mime_type  TEXT NOT NULL DEFAULT '',
  encoding   TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (agent_id, path)
);
CREATE INDEX memory_files_hash ON memory_files (hash);

CREATE TABLE sessions (
  id                TEXT PRIMARY KEY,
  account_id        TEXT NOT NULL,
  agent_id          TEXT NOT NULL,
  title             TEXT NOT NULL DEFAULT '',
  title_source      TEXT NOT NULL DEFAULT 'system',
  description       TEXT NOT NULL DEFAULT '',
  status            TEXT NOT NULL DEFAULT 'idle',
  parent_session_id TEXT,
  run_id            TEXT,
  plan              TEXT,
  model_override    TEXT,
  last_seq          BIGINT NOT NULL DEFAULT 0,
  last_event_at     BIGINT NOT NULL DEFAULT 0,
  last_event_kind   TEXT NOT NULL DEFAULT '',
  last_message_at   BIGINT NOT NULL DEFAULT 0,
  last_message_from TEXT NOT NULL DEFAULT '',
  created_at        BIGINT NOT NULL,
  updated_at        BIGINT NOT NULL
);
CREATE INDEX sessions_account ON sessions (account_id, updated_at, id);
CREATE INDEX sessions_agent ON sessions (agent_id, updated_at, id);
CREATE INDEX sessions_activity ON sessions (agent_id, last_event_at, id);
CREATE INDEX sessions_messages ON sessions (agent_id, last_message_at, id);
CREATE INDEX sessions_parent ON sessions (parent_session_id) WHERE parent_session_id IS NOT NULL;

-- The log: immutable, dense from 1 in each session. payload is JSON of format `version`; opaque is provider state of the
-- same assistant turn, kept byte for byte and never sent to clients.
CREATE TABLE session_events (
  session_id TEXT NOT NULL,
  seq        BIGINT NOT NULL,
  id         TEXT NOT NULL,
  type       TEXT NOT NULL,
  actor      TEXT NOT NULL,
  version    BIGINT NOT NULL,
  payload    TEXT NOT NULL,
  opaque     TEXT,
  run_id     TEXT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (session_id, seq)
);

CREATE TABLE session_attachments (
  session_id TEXT NOT NULL,
  id         TEXT NOT NULL,
  name       TEXT NOT NULL,
  mime_type  TEXT NOT NULL DEFAULT '',
  size       BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (session_id, id)
);
CREATE INDEX session_attachments_blob ON session_attachments (id);

-- Everything that executes; also the queue.
CREATE TABLE runs (
  id               TEXT PRIMARY KEY,
  account_id       TEXT NOT NULL,
  root_run_id      TEXT NOT NULL,
  parent_run_id    TEXT,
  depth            BIGINT NOT NULL DEFAULT 0,
  kind             TEXT NOT NULL,
  agent_id         TEXT,
  agent_version    BIGINT,
  session_id       TEXT,
  origin           TEXT NOT NULL,
  title            TEXT NOT NULL,
  status           TEXT NOT NULL,
  queue            TEXT NOT NULL,
  attempt          BIGINT NOT NULL DEFAULT 0,
  max_attempts     BIGINT NOT NULL,
  recoveries       BIGINT NOT NULL DEFAULT 0,
  not_before       BIGINT NOT NULL DEFAULT 0,
  lease_owner      TEXT,
  lease_epoch      BIGINT NOT NULL DEFAULT 0,
  lease_expires_at BIGINT NOT NULL DEFAULT 0,
  input            TEXT,
  output           TEXT,
  error            TEXT,
  usage            TEXT,
  child_usage      TEXT,
  plan             TEXT,
  created_at       BIGINT NOT NULL,
  started_at       BIGINT,
  finished_at      BIGINT,
  updated_at       BIGINT NOT NULL
);
CREATE INDEX runs_queue ON runs (queue, created_at, id) WHERE status = 'queued';
-- Whoever holds a lease holds its session: at most one agent run of a session executes. A canceled run keeps its lease
-- until its worker has let go.
CREATE UNIQUE INDEX runs_one_per_session ON runs (session_id) WHERE lease_owner IS NOT NULL AND kind = 'agent';
CREATE INDEX runs_leased ON runs (lease_owner, lease_expires_at) WHERE lease_owner IS NOT NULL;
-- The second column has the planner of SQLite prefer these to the indexes of the whole history.
CREATE INDEX runs_live ON runs (agent_id, status) WHERE status IN ('queued', 'claimed', 'running', 'waiting');
CREATE INDEX runs_live_session ON runs (session_id, status) WHERE status IN ('queued', 'claimed', 'running');
CREATE INDEX runs_session ON runs (session_id, created_at, id);
CREATE INDEX runs_agent ON runs (agent_id, created_at, id);
CREATE INDEX runs_root ON runs (root_run_id, created_at, id);
CREATE INDEX runs_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

-- Facts about this deployment.
CREATE TABLE server_state (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
