-- min_compatible: 1

-- What starts an agent by itself. source, prompt and continuation are JSON as the wire has them; program is what a continuation runs
-- without a conversation, compiled. armed_at is since when what happens counts; next_at is when a schedule is due, zero is never.
CREATE TABLE triggers (
  id              TEXT PRIMARY KEY,
  account_id      TEXT NOT NULL,
  agent_id        TEXT NOT NULL,
  name            TEXT NOT NULL,
  enabled         BIGINT NOT NULL,
  source_type     TEXT NOT NULL,
  source          TEXT NOT NULL,
  prompt          TEXT NOT NULL,
  continuation    TEXT,
  program         TEXT,
  armed_at        BIGINT NOT NULL,
  next_at         BIGINT NOT NULL DEFAULT 0,
  last_checked_at BIGINT NOT NULL DEFAULT 0,
  last_fired_at   BIGINT NOT NULL DEFAULT 0,
  last_error      TEXT NOT NULL DEFAULT '',
  merged_into     TEXT NOT NULL DEFAULT '',
  created_at      BIGINT NOT NULL,
  updated_at      BIGINT NOT NULL
);
CREATE INDEX triggers_agent ON triggers (agent_id);
CREATE INDEX triggers_account ON triggers (account_id, source_type);
CREATE INDEX triggers_due ON triggers (next_at) WHERE next_at > 0;

-- Each time that one fired, with what it was told and did. chain are the triggers whose firings led to this one, itself the last.
CREATE TABLE trigger_firings (
  id               TEXT PRIMARY KEY,
  trigger_id       TEXT NOT NULL,
  account_id       TEXT NOT NULL,
  agent_id         TEXT NOT NULL,
  trigger_name     TEXT NOT NULL,
  source           TEXT NOT NULL,
  prompt           TEXT NOT NULL,
  activity_key     TEXT NOT NULL,
  activity_summary TEXT NOT NULL,
  activity         TEXT NOT NULL,
  matched          TEXT,
  chain            TEXT NOT NULL,
  on_failure       TEXT NOT NULL DEFAULT '',
  status           TEXT NOT NULL,
  error            TEXT NOT NULL DEFAULT '',
  run_id           TEXT,
  session_id       TEXT,
  created_at       BIGINT NOT NULL
);
CREATE INDEX trigger_firings_trigger ON trigger_firings (trigger_id, created_at);
CREATE INDEX trigger_firings_agent ON trigger_firings (agent_id);
CREATE INDEX trigger_firings_run ON trigger_firings (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX trigger_firings_session ON trigger_firings (session_id) WHERE session_id IS NOT NULL;

-- What a trigger has fired for. The key makes an event fire once, whoever hears of it and however often.
CREATE TABLE trigger_claims (
  trigger_id TEXT NOT NULL,
  event_key  TEXT NOT NULL,
  firing_id  TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (trigger_id, event_key)
);
CREATE INDEX trigger_claims_age ON trigger_claims (created_at);

-- The firing that a session began with, as its readers see it.
ALTER TABLE sessions ADD COLUMN started_by_trigger TEXT;

-- Whether the agent was given the trigger that answers mentions of its account: it is given one once.
ALTER TABLE agents ADD COLUMN mention_trigger BIGINT NOT NULL DEFAULT 0;
