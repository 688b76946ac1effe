-- min_compatible: 1

-- What programs act with. hash is that of the token's text; times of zero are never.
CREATE TABLE api_tokens (
  id           TEXT PRIMARY KEY,
  account_id   TEXT NOT NULL,
  name         TEXT NOT NULL,
  hash         TEXT NOT NULL UNIQUE,
  scopes       TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL
) STRICT;
CREATE INDEX api_tokens_account ON api_tokens (account_id, created_at, id);

-- One-time links: a row is removed when its code is used.
CREATE TABLE sign_in_codes (
  hash       TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

-- Browsers that are signed in. hash is that of the cookie.
CREATE TABLE sign_ins (
  id           TEXT PRIMARY KEY,
  account_id   TEXT NOT NULL,
  hash         TEXT NOT NULL UNIQUE,
  method       TEXT NOT NULL,
  user_agent   TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sign_ins_account ON sign_ins (account_id, created_at, id);

-- Keys that act as another account than their own.
CREATE TABLE account_keys (
  key        TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX account_keys_account ON account_keys (account_id, created_at, key);

-- credential_id is what an authenticator names itself by; credential is JSON with its public key and counter.
CREATE TABLE passkeys (
  id            TEXT PRIMARY KEY,
  account_id    TEXT NOT NULL,
  credential_id TEXT NOT NULL UNIQUE,
  credential    TEXT NOT NULL,
  name          TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  last_used_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX passkeys_account ON passkeys (account_id, created_at, id);

-- What an authenticator was asked, until it answers or the time is over. account_id is empty before a sign-in.
CREATE TABLE passkey_challenges (
  hash       TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  data       TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX runs_account ON runs (account_id, created_at, id);
