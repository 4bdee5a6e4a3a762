-- The tables of release 0.1.0, which made them in fourteen steps: the log and what is derived from it. Tenants, people and
-- conversations have small integer keys, because they stand in every row; every key begins with the tenant. Text that a client
-- sends has no U+0000 here: see jsonb.py.

CREATE TABLE threadkeep.tenant (
    key integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE threadkeep.person (
    tenant integer NOT NULL,
    key integer GENERATED ALWAYS AS IDENTITY,
    name text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- A deleted conversation has no `id`; it had `deleted_id`, and can be restored until a purge begins. `updated_at` is the time
-- of entry number `indexed`, up to which the words are indexed as well; where later entries exist, the conversation is in
-- `behind`.
CREATE TABLE threadkeep.conversation (
    key bigint GENERATED ALWAYS AS IDENTITY,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    tenant integer NOT NULL,
    owner integer NOT NULL,
    version integer NOT NULL DEFAULT 1,
    indexed integer NOT NULL DEFAULT 0,
    archived boolean NOT NULL DEFAULT false,
    id bytea,
    status text NOT NULL DEFAULT 'active',
    assistant text,
    title text,
    model text,
    metadata jsonb,
    system text,
    deleted_id bytea,
    PRIMARY KEY (tenant, key),
    UNIQUE (tenant, id)
) WITH (fillfactor = 80);
CREATE INDEX conversation_by_activity ON threadkeep.conversation (tenant, owner, updated_at, key) WHERE id IS NOT NULL;
CREATE INDEX conversation_by_deleted_id ON threadkeep.conversation (tenant, deleted_id) WHERE deleted_id IS NOT NULL;
-- For administrators of a tenant.
CREATE INDEX conversation_by_activity_of_all ON threadkeep.conversation (tenant, updated_at, key) WHERE id IS NOT NULL;

-- `kind` is as in store/codec.py: up to 8 an entry continues a branch; above it is a remark and carries the head and the
-- newest entry of any branch as they are after it. `total` counts the bytes of the conversation's text up to here. The
-- server's role can neither change an entry nor needs to.
CREATE TABLE threadkeep.entry (
    created_at timestamptz NOT NULL,
    total bigint NOT NULL,
    conversation bigint NOT NULL,
    tenant integer NOT NULL,
    seq integer NOT NULL,
    parent integer NOT NULL,
    kind smallint NOT NULL,
    turn integer,
    head integer,
    newest integer,
    tokens integer,
    id bytea,
    content bytea,
    parts jsonb,
    PRIMARY KEY (tenant, conversation, seq)
);
-- Content is packed already.
ALTER TABLE threadkeep.entry ALTER content SET STORAGE external;
CREATE INDEX entry_state_and_summary ON threadkeep.entry (tenant, conversation, kind, seq) WHERE kind IN (8, 9);

-- Where an entry does not continue the one stored before it: see conversation/tree.py.
CREATE TABLE threadkeep.jump (
    conversation bigint NOT NULL,
    tenant integer NOT NULL,
    first integer NOT NULL,
    parent integer NOT NULL,
    "left" integer NOT NULL,
    beside integer NOT NULL,
    PRIMARY KEY (tenant, conversation, first)
);

-- Open turns only; the log tells of the settled ones. No content, hence no row-level security: whoever recovers turns
-- looks for leases of all tenants, and finds here under which names they are known.
CREATE TABLE threadkeep.turn (
    conversation bigint NOT NULL,
    until timestamptz,
    tenant integer NOT NULL,
    number integer NOT NULL,
    fence integer NOT NULL,
    taken integer NOT NULL,
    state text NOT NULL,
    owner text,
    tenant_name text NOT NULL,
    user_name text NOT NULL,
    conversation_id bytea NOT NULL,
    PRIMARY KEY (tenant, conversation, number)
) WITH (fillfactor = 50);
CREATE INDEX turn_by_lease ON threadkeep.turn (until) WHERE state = 'running';

-- The message being written, one in a conversation at most, in pieces. Each piece says where it begins and ends, in
-- characters, and how many bytes there are up to its end, so that the last one tells how long the message is.
CREATE TABLE threadkeep.chunk (
    conversation bigint NOT NULL,
    started_at timestamptz NOT NULL,
    tenant integer NOT NULL,
    number integer NOT NULL,
    turn integer NOT NULL,
    begins integer NOT NULL,
    ends integer NOT NULL,
    bytes integer NOT NULL,
    message bytea NOT NULL,
    text bytea NOT NULL,
    PRIMARY KEY (tenant, conversation, number)
);

-- Idempotency keys, as long as the conversation lives. `name` stands for user, route and key.
CREATE TABLE threadkeep.key (
    conversation bigint NOT NULL,
    tenant integer NOT NULL,
    first integer NOT NULL,
    last integer NOT NULL,
    name bytea NOT NULL,
    digest bytea NOT NULL,
    PRIMARY KEY (tenant, name)
);
CREATE INDEX key_by_conversation ON threadkeep.key (tenant, conversation, first);

-- Words of messages, with spaces between them; '¤u' and '¤c' before a key stand for owner and conversation. `position` is
-- the order of indexing. The words are indexed as they are, without dictionaries; kept as text they take less room than
-- as tsvector. Without fast updates the index is half as large, and the batches in which it grows are sorted anyway.
CREATE TABLE threadkeep.word (
    created_at timestamptz NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    conversation bigint NOT NULL,
    tenant integer NOT NULL,
    seq integer NOT NULL,
    words text NOT NULL
);
CREATE INDEX word_by_words ON threadkeep.word
USING gin (array_to_tsvector(string_to_array(words, ' '))) WITH (fastupdate = off);

-- Conversations with entries that are not indexed yet. A row is also what those who write to its conversation lock: see
-- 0003. And deleted conversations that are not purged yet. No content.
CREATE TABLE threadkeep.behind (
    conversation bigint NOT NULL,
    tenant integer NOT NULL,
    owner integer NOT NULL,
    PRIMARY KEY (tenant, owner, conversation)
);
CREATE TABLE threadkeep.removal (
    conversation bigint NOT NULL,
    tenant integer NOT NULL,
    deleted_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, conversation)
);
CREATE INDEX removal_by_time ON threadkeep.removal (deleted_at);

-- One row that is touched to learn whether writing works.
CREATE TABLE threadkeep.pulse (at timestamptz NOT NULL);
INSERT INTO threadkeep.pulse VALUES (now());

-- A conversation as it is now: the end of its log is what its last entry tells.
CREATE VIEW threadkeep.conversation_now WITH (security_invoker = true) AS
SELECT c.key, c.tenant, c.owner, c.id, c.version, c.created_at, coalesce(e.created_at, c.created_at) AS updated_at,
       c.status, c.archived, c.assistant, c.title, c.model, c.metadata, c.system,
       coalesce(e.seq, 0) AS last, coalesce(e.head, e.seq, 0) AS head, coalesce(e.newest, e.seq, 0) AS newest,
       coalesce(e.total, 0) AS total
FROM threadkeep.conversation c
LEFT JOIN LATERAL (
    SELECT * FROM threadkeep.entry e
    WHERE e.tenant = c.tenant AND e.conversation = c.key ORDER BY e.seq DESC LIMIT 1
) e ON true
WHERE c.id IS NOT NULL;

-- An entry as it is read, or why it is not.
CREATE TYPE threadkeep.line AS (
    refused text, seq integer, parent integer, kind smallint, turn integer, created_at timestamptz,
    id bytea, tokens integer, content bytea, parts jsonb
);

-- Digests of API keys, by which the server finds out for whom a request acts. They are looked up before any tenant is
-- known and hold no content, hence no row-level security.
CREATE TABLE threadkeep.api_key (
    created_at timestamptz NOT NULL,
    revoked_at timestamptz,
    id text COLLATE "C" NOT NULL UNIQUE,
    digest bytea NOT NULL PRIMARY KEY,
    hint text NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    person text COLLATE "C" NOT NULL,
    role text NOT NULL
);

-- Row-level security: the second wall between tenants. A function of ours says first for which tenant it works; without
-- that, or with another tenant, every table with content is empty. The setting is '' after a transaction that had set it.

CREATE FUNCTION threadkeep.present_tenant() RETURNS integer LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('threadkeep.tenant', true), '')::integer;

ALTER TABLE threadkeep.person ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.conversation ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.entry ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.jump ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.chunk ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.key ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
-- Not forced: the operator @@ may not use an index under a policy, so that the owner's function `candidates`, which
-- names tenant and user itself, must be free of it.
ALTER TABLE threadkeep.word ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON threadkeep.person USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.conversation USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.entry USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.jump USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.chunk USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.key USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.word USING (tenant = threadkeep.present_tenant());

-- The server's role: it owns nothing, cannot change an entry, and everything it does passes through row-level security.

DO $$
BEGIN
    IF to_regrole('threadkeep_server') IS NULL THEN
        CREATE ROLE threadkeep_server NOLOGIN;
    END IF;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN
        NULL; -- Somebody who migrates another database was faster.
    WHEN insufficient_privilege THEN
        RAISE insufficient_privilege USING MESSAGE =
            'the role threadkeep_server is missing and may not be created by this user: '
            'run CREATE ROLE threadkeep_server NOLOGIN as an administrator first';
END $$;

GRANT USAGE ON SCHEMA threadkeep TO threadkeep_server;
GRANT SELECT ON threadkeep.migration, threadkeep.conversation_now TO threadkeep_server;
GRANT SELECT, INSERT ON threadkeep.tenant, threadkeep.person TO threadkeep_server;
GRANT SELECT, INSERT, DELETE ON
    threadkeep.entry, threadkeep.jump, threadkeep.chunk, threadkeep.removal
TO threadkeep_server;
GRANT INSERT ON threadkeep.word TO threadkeep_server;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    threadkeep.conversation, threadkeep.turn, threadkeep.key, threadkeep.behind
TO threadkeep_server;
GRANT SELECT, UPDATE ON threadkeep.pulse TO threadkeep_server;
GRANT SELECT, INSERT, UPDATE ON threadkeep.api_key TO threadkeep_server;
