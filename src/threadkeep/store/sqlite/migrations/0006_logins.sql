-- Keys that end by themselves, and digests of what browsers show that were let in with a key.
ALTER TABLE api_key ADD COLUMN expires_at INTEGER;

CREATE TABLE login (
    digest BLOB NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    device TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    idle_until INTEGER NOT NULL,
    ends_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX login_key ON login (key, created_at);
