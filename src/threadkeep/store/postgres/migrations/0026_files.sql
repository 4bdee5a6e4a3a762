-- Attachments: see store/file_tables.py. A blob without a digest is an upload if it has an owner, and dropped if it has none.
CREATE TABLE threadkeep.file_blob (
    tenant integer NOT NULL,
    owner integer,
    size bigint NOT NULL,
    touched_at timestamptz NOT NULL,
    chunk integer NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text,
    media_type text,
    sha256 text COLLATE "C",
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX file_blob_by_content ON threadkeep.file_blob (tenant, sha256) WHERE sha256 IS NOT NULL;
CREATE INDEX file_blob_unfinished ON threadkeep.file_blob (tenant, owner) WHERE sha256 IS NULL;
CREATE TABLE threadkeep.file_chunk (
    tenant integer NOT NULL,
    number integer NOT NULL,
    blob text COLLATE "C" NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant, blob, number)
);
-- Most files are compressed already.
ALTER TABLE threadkeep.file_chunk ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE threadkeep.file (
    tenant integer NOT NULL,
    owner integer NOT NULL,
    created_at timestamptz NOT NULL,
    touched_at timestamptz NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    media_type text NOT NULL,
    blob text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX file_by_owner ON threadkeep.file (tenant, owner, id);
CREATE INDEX file_by_blob ON threadkeep.file (tenant, blob);
CREATE INDEX file_by_touch ON threadkeep.file (tenant, touched_at);
-- Which conversations use which files, written with the entries that do.
CREATE TABLE threadkeep.file_use (
    conversation bigint NOT NULL,
    tenant integer NOT NULL,
    file text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, file, conversation)
);
CREATE INDEX file_use_by_conversation ON threadkeep.file_use (tenant, conversation);

ALTER TABLE threadkeep.file_blob ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.file_chunk ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.file ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.file_use ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON threadkeep.file_blob USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.file_chunk USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.file USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.file_use USING (tenant = threadkeep.present_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON
    threadkeep.file_blob, threadkeep.file_chunk, threadkeep.file, threadkeep.file_use
TO threadkeep_server;
