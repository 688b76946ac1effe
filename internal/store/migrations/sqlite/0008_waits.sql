-- min_compatible: 1

-- What a run that waits shows of it: its most urgent wait, as the wire has it. The call of the parent that began a run, and the
-- run that this one goes on with.
ALTER TABLE runs ADD COLUMN wait TEXT;
ALTER TABLE runs ADD COLUMN parent_tool_call_id TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN continued_from_run_id TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN journal_seq INTEGER NOT NULL DEFAULT 0;

-- What runs wait for. A row goes when its wait is settled or its run has ended; the run goes on when none is left, or when one
-- that is enough alone (alone = 1) goes. wake_at is when a wait settles by itself, zero is never.
CREATE TABLE run_waits (
  run_id       TEXT NOT NULL,
  id           TEXT NOT NULL,
  reason       TEXT NOT NULL,
  alone        INTEGER NOT NULL,
  child_run_id TEXT,
  tool_call_id TEXT NOT NULL DEFAULT '',
  call_seq     INTEGER NOT NULL DEFAULT 0,
  wake_at      INTEGER NOT NULL DEFAULT 0,
  match        TEXT,
  label        TEXT NOT NULL DEFAULT '',
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (run_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_waits_child ON run_waits (child_run_id) WHERE child_run_id IS NOT NULL;
CREATE INDEX run_waits_due ON run_waits (wake_at) WHERE wake_at > 0;

-- The journals of scripts. seq begins at 1 in each run and has no gaps.
CREATE TABLE run_journal (
  run_id     TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  entry      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;
