-- min_compatible: 1

-- The session that one goes on with, and the one that it goes on in, as the wire shows them.
ALTER TABLE sessions ADD COLUMN continued_from TEXT;
ALTER TABLE sessions ADD COLUMN continued_to TEXT;
