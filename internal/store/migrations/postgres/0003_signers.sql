-- min_compatible: 1

-- Keys that an account let act for it with a capability. A row stays when it is revoked, so that the same capability does not
-- count again; revoked_at is zero before.
CREATE TABLE account_signers (
  account_id    TEXT NOT NULL,
  signer        TEXT NOT NULL,
  role          TEXT NOT NULL,
  label         TEXT NOT NULL,
  capability    BYTEA NOT NULL,
  capability_id TEXT NOT NULL,
  issued_at     BIGINT NOT NULL,
  created_at    BIGINT NOT NULL,
  revoked_at    BIGINT NOT NULL,
  PRIMARY KEY (account_id, signer)
);
