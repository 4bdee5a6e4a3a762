-- Attachments: see store/file_tables.py. The stores in memory and in a folder keep these tables in a database of their own.
CREATE TABLE file_blob (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    user TEXT,
    name TEXT,
    media_type TEXT,
    sha256 TEXT,
    size INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    touched_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX file_blob_by_content ON file_blob (tenant, sha256) WHERE sha256 IS NOT NULL;
CREATE INDEX file_blob_unfinished ON file_blob (tenant, user) WHERE sha256 IS NULL;
CREATE TABLE file_chunk (
    blob TEXT NOT NULL,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (blob, number)
) STRICT;
CREATE TABLE file (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    blob TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    touched_at INTEGER NOT NULL
) STRICT;
CREATE INDEX file_by_user ON file (tenant, user, id);
CREATE INDEX file_by_blob ON file (blob);
CREATE INDEX file_by_touch ON file (tenant, touched_at);
-- Which conversations use which files, written with the entries that do.
CREATE TABLE file_use (
    conversation INTEGER NOT NULL,
    tenant INTEGER NOT NULL,
    file TEXT NOT NULL,
    PRIMARY KEY (file, conversation)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_use_by_conversation ON file_use (tenant, conversation);
