-- Digests of API keys, by which the server finds out for whom a request acts.
CREATE TABLE api_key (
    digest BLOB NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    hint TEXT NOT NULL,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
