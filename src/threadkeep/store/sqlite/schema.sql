-- The log and what is derived from it. Tenants, users and conversations have small integer keys, because they stand in
-- every row; every other key begins with the tenant. Times are microseconds since 1970. `crc` is the checksum of a row.

CREATE TABLE tenant (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- The name of whom nothing is left is a pseudonym.
CREATE TABLE user (
    key INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (tenant, name)
) STRICT;

-- `facts` and `large` are the fold of what the conversation began with and of its updates, as JSON: what lists show and
-- filter by, and what may be large (none: null); what is as in every new conversation stands in neither. See
-- conversation/facts.py. `updated_at`, `bytes` and `entries` are derived and lag behind the log until it is caught up with
-- (see `caught_up`). A deleted conversation has no `id`; it had `deleted_id` and can be restored until a purge begins, which
-- takes that away too.
CREATE TABLE conversation (
    key INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    user INTEGER NOT NULL,
    id BLOB,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    entries INTEGER NOT NULL DEFAULT 0,
    deleted_at INTEGER,
    deleted_id BLOB,
    crc INTEGER,
    large_crc INTEGER,
    is_first INTEGER NOT NULL DEFAULT 0,
    facts TEXT NOT NULL,
    large TEXT,
    UNIQUE (tenant, id)
) STRICT;
CREATE INDEX conversation_by_activity ON conversation (tenant, user, updated_at, key) WHERE id IS NOT NULL;
-- Those that lists show before the others.
CREATE INDEX conversation_first ON conversation (tenant, user) WHERE is_first AND id IS NOT NULL;
-- For those who look at the conversations of all users of a tenant.
CREATE INDEX conversation_by_activity_of_all ON conversation (tenant, updated_at, key) WHERE id IS NOT NULL;
CREATE INDEX conversation_by_deletion ON conversation (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX conversation_by_deleted_id ON conversation (tenant, deleted_id) WHERE deleted_id IS NOT NULL;

-- `position` is the order of writing in this file. `kind` is as in store/codec.py: up to 8 an entry continues a branch, above
-- it is a remark, and carries the head and the newest entry of any branch as they are after it. `messages` counts those of all
-- branches up to here; it can be derived again from the kinds, so that the checksum leaves it out.
CREATE TABLE entry (
    position INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    conversation INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    turn INTEGER,
    created_at INTEGER NOT NULL,
    id BLOB,
    tokens INTEGER,
    head INTEGER,
    newest INTEGER,
    content BLOB,
    parts BLOB,
    crc INTEGER,
    messages INTEGER
) STRICT;
CREATE UNIQUE INDEX entry_by_seq ON entry (tenant, conversation, seq);
-- States, summaries and feedback.
CREATE INDEX entry_by_kind ON entry (tenant, conversation, kind, seq) WHERE kind IN (8, 9, 14);

-- Where an entry does not continue the one stored before it: see conversation/tree.py.
CREATE TABLE jump (
    tenant INTEGER NOT NULL,
    conversation INTEGER NOT NULL,
    first INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    "left" INTEGER NOT NULL,
    beside INTEGER NOT NULL,
    crc INTEGER,
    PRIMARY KEY (tenant, conversation, first)
) STRICT, WITHOUT ROWID;

-- Open turns only; the log tells of the settled ones.
CREATE TABLE turn (
    tenant INTEGER NOT NULL,
    conversation INTEGER NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    owner TEXT,
    until INTEGER,
    fence INTEGER NOT NULL,
    PRIMARY KEY (tenant, conversation, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_by_lease ON turn (until) WHERE state = 'running';

-- The message being written: one in a conversation at most, its text in pieces. `bytes` counts the text up to the end of the
-- piece.
CREATE TABLE draft (
    tenant INTEGER NOT NULL,
    conversation INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    message TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, conversation)
) STRICT, WITHOUT ROWID;
CREATE TABLE chunk (
    tenant INTEGER NOT NULL,
    conversation INTEGER NOT NULL,
    "offset" INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    text TEXT NOT NULL,
    crc INTEGER,
    PRIMARY KEY (tenant, conversation, "offset")
) STRICT, WITHOUT ROWID;

-- Idempotency keys, as long as the conversation lives. `name` stands for user, route and key.
CREATE TABLE key (
    tenant INTEGER NOT NULL,
    name BLOB NOT NULL,
    digest BLOB NOT NULL,
    conversation INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    crc INTEGER,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX key_by_conversation ON key (tenant, conversation);

-- Words of entries, by position, removed from the index when their entry is, not only marked: nothing that was deleted stays
-- readable. Text is prepared in text/words.py; a word that begins with ¤ names a user or a conversation.
CREATE VIRTUAL TABLE word USING fts5 (words, content = '', detail = none, tokenize = 'ascii');
INSERT INTO word (word, rank) VALUES ('secure-delete', 1);

-- Up to which position the derived columns and the words are complete.
CREATE TABLE caught_up (position INTEGER NOT NULL) STRICT;
INSERT INTO caught_up VALUES (0);

-- The words of titles, by which conversations are found. They are written with the title, and not in batches.
CREATE TABLE title_word (
    tenant INTEGER NOT NULL,
    conversation INTEGER NOT NULL,
    word TEXT NOT NULL,
    user INTEGER NOT NULL,
    PRIMARY KEY (tenant, conversation, word)
) STRICT, WITHOUT ROWID;
CREATE INDEX title_by_word ON title_word (tenant, user, word, conversation);

-- Digests of API keys, by which the server finds out for whom a request acts, and of what browsers show that were let in with
-- a key.
CREATE TABLE api_key (
    digest BLOB NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    hint TEXT NOT NULL,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;
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

-- Who did what, when and from where: a chain of hashes for each tenant, see store/audit.py. All but `seq` is text, as it is
-- hashed.
CREATE TABLE audit (
    tenant INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    object TEXT NOT NULL,
    details TEXT NOT NULL,
    address TEXT NOT NULL,
    request TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX audit_by_seq ON audit (tenant, seq);
CREATE INDEX audit_by_action ON audit (tenant, action, seq);

-- What this file alone knows, to hide from clients what is none of their business.
CREATE TABLE secret (value BLOB NOT NULL) STRICT;
INSERT INTO secret (value) VALUES (randomblob(32));

-- What is written and read to find out whether that is possible.
CREATE TABLE pulse (beats INTEGER NOT NULL) STRICT;
INSERT INTO pulse VALUES (0);

-- The mark that every commit replaces, by which a file and its log know each other: a fixed beginning, the store, the
-- number of the commit, the token of the commit before and its own. See store/sqlite/pair.py.
CREATE TABLE log_mark (value BLOB NOT NULL) STRICT;
INSERT INTO log_mark VALUES (
    unhex('746B2D6D61726B3A' || hex(randomblob(16)) || hex(zeroblob(16)) || hex(randomblob(8)))
);

-- Attachments: see store/file_tables.py.
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

-- What the files and uploads of a user add up to, and in the row of the user '' what those of a tenant do, in which the
-- bytes of a blob count once. Triggers keep it, so that whatever changes a row changes its totals with it.
CREATE TABLE file_total (
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    files INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (tenant, user)
) STRICT, WITHOUT ROWID;
-- The name of a user who has nothing stands nowhere.
CREATE TRIGGER file_total_emptied AFTER UPDATE ON file_total
WHEN NEW.files = 0 AND NEW.bytes = 0 AND NEW.user <> '' BEGIN
    DELETE FROM file_total WHERE tenant = NEW.tenant AND user = NEW.user;
END;
CREATE TRIGGER file_blob_added AFTER INSERT ON file_blob BEGIN
    INSERT INTO file_total
    SELECT NEW.tenant, '', 0, NEW.size UNION ALL SELECT NEW.tenant, NEW.user, 0, NEW.size WHERE NEW.user IS NOT NULL
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER file_blob_changed AFTER UPDATE OF user, size ON file_blob BEGIN
    INSERT INTO file_total
    SELECT NEW.tenant, '', 0, NEW.size - OLD.size
    UNION ALL SELECT OLD.tenant, OLD.user, 0, -OLD.size WHERE OLD.user IS NOT NULL
    UNION ALL SELECT NEW.tenant, NEW.user, 0, NEW.size WHERE NEW.user IS NOT NULL
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER file_blob_removed AFTER DELETE ON file_blob BEGIN
    UPDATE file_total SET bytes = bytes - OLD.size WHERE tenant = OLD.tenant AND user = '';
END;
CREATE TRIGGER file_added AFTER INSERT ON file BEGIN
    INSERT INTO file_total
    SELECT NEW.tenant, '', 1, 0 UNION ALL SELECT NEW.tenant, NEW.user, 1, size FROM file_blob WHERE id = NEW.blob
    ON CONFLICT DO UPDATE SET files = files + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER file_removed AFTER DELETE ON file BEGIN
    UPDATE file_total SET files = files - 1 WHERE tenant = OLD.tenant AND user = '';
    UPDATE file_total SET files = files - 1, bytes = bytes - (SELECT size FROM file_blob WHERE id = OLD.blob)
    WHERE tenant = OLD.tenant AND user = OLD.user;
END;
