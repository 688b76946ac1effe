-- min_compatible: 1

-- On which model a run was executed: the account's name of the provider and the provider's id of the model, empty before.
ALTER TABLE runs ADD COLUMN provider TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN model TEXT NOT NULL DEFAULT '';

-- How a provider fared when it was asked: zero is never.
ALTER TABLE model_providers ADD COLUMN last_success_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_providers ADD COLUMN last_error_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_providers ADD COLUMN last_error TEXT NOT NULL DEFAULT '';
