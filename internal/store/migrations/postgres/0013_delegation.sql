-- min_compatible: 1

-- How deep and how wide the tree of a run may grow, which children copy (JSON), and the step of the plan that a child works on.
ALTER TABLE runs ADD COLUMN budget TEXT;
ALTER TABLE runs ADD COLUMN plan_step_id TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN step_label TEXT NOT NULL DEFAULT '';

-- The thoroughness that a person chose for a session; empty is its agent's.
ALTER TABLE sessions ADD COLUMN thoroughness TEXT NOT NULL DEFAULT '';
