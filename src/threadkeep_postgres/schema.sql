-- The log and what is derived from it. Tenants, people and conversations have small integer keys, because they stand in every
-- row; every key begins with the tenant, by which an engine may distribute the tables. Text that a client sends has no U+0000
-- here: see jsonb.py. PostgreSQL keeps samples of columns for its planner: of content and names it must not (STATISTICS 0),
-- because nobody can remove them with the content.

-- A tenant has a row for each of its cells: see cells.py. Its first one, 0, is always open.
CREATE TABLE threadkeep.tenant (
    key integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cell smallint NOT NULL DEFAULT 0,
    opens_at timestamptz,
    name text COLLATE "C" NOT NULL,
    UNIQUE (name, cell)
);

-- A person of whom nothing is left is known by a pseudonym, and its name stands in no file. Keys are drawn from a sequence before
-- they are stored: an engine that distributes tables by tenant allows no identity column of this size there.
CREATE TABLE threadkeep.person (
    tenant integer NOT NULL,
    key integer NOT NULL,
    name text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, name)
);
CREATE UNIQUE INDEX person_by_key ON threadkeep.person (tenant, key);
ALTER TABLE threadkeep.person ALTER name SET STATISTICS 0;
CREATE SEQUENCE threadkeep.person_key AS integer;

-- `facts` and `large` are the fold of what the conversation began with and of its updates: what lists show and filter by, and
-- what may be large (none: null); what is as in every new conversation stands in neither. See conversation/facts.py. `bytes` is
-- the size of what it began with. A deleted conversation has no `id`; it had `deleted_id`, and can be restored until a purge
-- begins. `updated_at` is the time of entry number `indexed`, up to which the words are indexed as well; where later entries
-- exist, the conversation is in `behind`.
CREATE TABLE threadkeep.conversation (
    key bigint GENERATED ALWAYS AS IDENTITY,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    tenant integer NOT NULL,
    owner integer NOT NULL,
    version integer NOT NULL DEFAULT 1,
    indexed integer NOT NULL DEFAULT 0,
    bytes integer NOT NULL,
    is_first boolean NOT NULL DEFAULT false,
    id bytea,
    deleted_id bytea,
    facts jsonb NOT NULL,
    large jsonb,
    PRIMARY KEY (tenant, key),
    UNIQUE (tenant, id)
) WITH (fillfactor = 80);
CREATE INDEX conversation_by_activity ON threadkeep.conversation (tenant, owner, updated_at, key) WHERE id IS NOT NULL;
CREATE INDEX conversation_by_deleted_id ON threadkeep.conversation (tenant, deleted_id) WHERE deleted_id IS NOT NULL;
-- Those that lists show before the others.
CREATE INDEX conversation_first ON threadkeep.conversation (tenant, owner) WHERE is_first AND id IS NOT NULL;
-- For administrators of a tenant.
CREATE INDEX conversation_by_activity_of_all ON threadkeep.conversation (tenant, updated_at, key) WHERE id IS NOT NULL;
ALTER TABLE threadkeep.conversation ALTER facts SET STATISTICS 0, ALTER large SET STATISTICS 0;

-- `kind` is as in store/codec.py: up to 8 an entry continues a branch; above it is a remark and carries the head and the
-- newest entry of any branch as they are after it. `total` counts the bytes of the conversation's text up to here,
-- `messages` the messages of all branches. The server's role can neither change an entry nor needs to.
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
    messages integer NOT NULL,
    PRIMARY KEY (tenant, conversation, seq)
);
-- Content is packed already.
ALTER TABLE threadkeep.entry
    ALTER content SET STORAGE external, ALTER content SET STATISTICS 0, ALTER parts SET STATISTICS 0;
-- States, summaries and feedback.
CREATE INDEX entry_by_kind ON threadkeep.entry (tenant, conversation, kind, seq) WHERE kind IN (8, 9, 14);

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
    state text NOT NULL,
    owner text,
    tenant_name text NOT NULL,
    user_name text NOT NULL,
    conversation_id bytea NOT NULL,
    PRIMARY KEY (tenant, conversation, number)
) WITH (fillfactor = 50);
ALTER TABLE threadkeep.turn ALTER user_name SET STATISTICS 0;
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
ALTER TABLE threadkeep.chunk ALTER text SET STATISTICS 0;

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
-- when they were indexed, in microseconds: machines of an engine that distributes tables have sequences of their own, and a
-- tenant may be moved from one to the other. The words are indexed as they are, without dictionaries; kept as text they take less room than
-- as tsvector. Without fast updates the index is half as large, and the batches in which it grows are sorted anyway.
CREATE TABLE threadkeep.word (
    created_at timestamptz NOT NULL,
    position bigint NOT NULL,
    conversation bigint NOT NULL,
    tenant integer NOT NULL,
    seq integer NOT NULL,
    words text NOT NULL
);
CREATE INDEX word_by_words ON threadkeep.word
USING gin (array_to_tsvector(string_to_array(words, ' '))) WITH (fastupdate = off);
ALTER TABLE threadkeep.word ALTER words SET STATISTICS 0;
-- It has no key, which would take more room than all else of it; replication knows its rows as a whole.
ALTER TABLE threadkeep.word REPLICA IDENTITY FULL;
ALTER INDEX threadkeep.word_by_words ALTER COLUMN 1 SET STATISTICS 0;

-- The words of titles, by which conversations are found, with the time when each was created. They are written with the
-- title, and not in batches.
CREATE TABLE threadkeep.title_word (
    conversation bigint NOT NULL,
    created_at timestamptz NOT NULL,
    tenant integer NOT NULL,
    owner integer NOT NULL,
    word text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, conversation, word)
);
CREATE INDEX title_by_word ON threadkeep.title_word (tenant, owner, word, created_at, conversation);
ALTER TABLE threadkeep.title_word ALTER word SET STATISTICS 0;

-- Conversations with entries that are not indexed yet. A row is also what those who write to its conversation lock:
-- see `commit`. And deleted conversations that are not purged yet; what was purged is noted until the tables are written
-- anew. No content.
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

-- What becomes of a conversation as a whole; `title_words` is null where the title stays.
CREATE TYPE threadkeep.change AS (
    conversation bigint, version integer, is_first boolean, facts jsonb, large jsonb, title_words text[]
);

-- An entry as it is read, or why it is not.
CREATE TYPE threadkeep.line AS (
    refused text, seq integer, parent integer, kind smallint, turn integer, created_at timestamptz,
    id bytea, tokens integer, content bytea, parts jsonb
);

-- Digests of API keys, by which the server finds out for whom a request acts, and of what browsers show that were let in with a
-- key. They are looked up before any tenant is known and hold no content, hence no row-level security.
CREATE TABLE threadkeep.api_key (
    created_at timestamptz NOT NULL,
    revoked_at timestamptz,
    expires_at timestamptz,
    id text COLLATE "C" NOT NULL UNIQUE,
    digest bytea NOT NULL PRIMARY KEY,
    hint text NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    person text COLLATE "C" NOT NULL,
    role text NOT NULL
);
ALTER TABLE threadkeep.api_key ALTER person SET STATISTICS 0;
CREATE TABLE threadkeep.login (
    created_at timestamptz NOT NULL,
    idle_until timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    id text COLLATE "C" NOT NULL UNIQUE,
    digest bytea NOT NULL PRIMARY KEY,
    key text COLLATE "C" NOT NULL REFERENCES threadkeep.api_key (id),
    device text NOT NULL
);
CREATE INDEX login_key ON threadkeep.login (key, created_at);

-- What this database alone knows, to hide from clients what is none of their business. The same for all tenants, hence no
-- row-level security.
CREATE TABLE threadkeep.secret (value bytea NOT NULL);
ALTER TABLE threadkeep.secret REPLICA IDENTITY FULL;
INSERT INTO threadkeep.secret (value)
VALUES (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

-- Who did what, when and from where: a chain of hashes for each tenant, see store/audit.py. All but `seq` is text, as it is
-- hashed. An act is first kept as pending, in the commit of what it tells of, so that writers do not wait for each other;
-- whoever reads gives it its place in the chain, in the order of time: whoever moves a tenant to another machine finds another
-- sequence there. The server's role cannot change a record.
CREATE TABLE threadkeep.audit (
    tenant integer NOT NULL,
    seq integer NOT NULL,
    at text COLLATE "C" NOT NULL,
    actor text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    object text COLLATE "C" NOT NULL,
    details text NOT NULL,
    address text NOT NULL,
    request text NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (tenant, seq)
);
CREATE INDEX audit_by_action ON threadkeep.audit (tenant, action, seq);

CREATE TABLE threadkeep.audit_pending (
    tenant integer NOT NULL,
    key bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL,
    act text[] NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX audit_pending_by_time ON threadkeep.audit_pending (tenant, at, key);

-- Acts about API keys and logins, until whoever reads makes them pending: where tables are distributed by tenant, a key can be
-- looked up, made and revoked while the machine of its tenant is away. Like keys they are under no row-level security.
CREATE TABLE threadkeep.key_act (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    tenant_key integer NOT NULL,
    act text[] NOT NULL
);
CREATE INDEX key_act_by_tenant ON threadkeep.key_act (tenant_key);

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

-- What the files and uploads of a user add up to, and in the row of nobody (0) what those of a tenant do, in which the bytes
-- of a blob count once; changed with the rows that it counts.
CREATE TABLE threadkeep.file_total (
    tenant integer NOT NULL,
    owner integer NOT NULL,
    files bigint NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (tenant, owner)
);

-- Row-level security: the second wall between tenants. A function of ours says first for which tenant it works; without
-- that, or with another tenant, every table with content is empty. The setting is '' after a transaction that had set it.
-- A planner derives `tenant = …` for other tables of a query from an equality in a policy, and an engine that distributes
-- tables by tenant may send the query elsewhere by it. From IS NOT DISTINCT FROM it derives nothing; queries name their tenant.

CREATE FUNCTION threadkeep.present_tenant() RETURNS integer LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('threadkeep.tenant', true), '')::integer;

DO $$
DECLARE guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY[
        'person', 'conversation', 'entry', 'jump', 'chunk', 'key', 'word', 'title_word', 'audit', 'audit_pending',
        'file_blob', 'file_chunk', 'file', 'file_use', 'file_total'
    ] LOOP
        EXECUTE format('ALTER TABLE threadkeep.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', guarded);
        EXECUTE format(
            'CREATE POLICY tenant ON threadkeep.%I USING (tenant IS NOT DISTINCT FROM threadkeep.present_tenant())', guarded
        );
    END LOOP;
END $$;
-- Not forced: the operator @@ may not use an index under a policy, so that the owner's function `candidates`, which
-- names tenant and user itself, must be free of it.
ALTER TABLE threadkeep.word NO FORCE ROW LEVEL SECURITY;

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
