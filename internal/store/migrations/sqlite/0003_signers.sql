-- min_compatible: 1

-- Keys that an account let act for it with a capability. A row stays when it is revoked, so that the same capability does not
-- count again; revoked_at is zero before.
CREATE TABLE account_signers (
  account_id    TEXT NOT NULL,
  signer        TEXT NOT NULL,
  role          TEXT NOT NULL,
  label         TEXT NOT NULL,
  capability    BLOB NOT NULL,
  capability_id TEXT NOT NULL,
  issued_at     INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  revoked_at    INTEGER NOT NULL,
  PRIMARY KEY (account_id, signer)
) STRICT;
