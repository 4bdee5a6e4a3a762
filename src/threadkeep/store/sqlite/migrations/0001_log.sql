-- The log and what is derived from it. Tenants, users and conversations have small integer keys, because they stand in
-- every row; every other key begins with the tenant. Times are microseconds since 1970.

CREATE TABLE tenant (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE user (
    key INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (tenant, name)
) STRICT;

-- `id` is null once the conversation is deleted (see 0003). `updated_at` and `bytes` are derived and lag
-- behind the log until it is caught up with (see `caught_up`); title, status and the like are changed in place, and each change is in the log.
CREATE TABLE conversation (
    key INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    user INTEGER NOT NULL,
    id BLOB,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    status TEXT NOT NULL,
    archived INTEGER NOT NULL,
    assistant TEXT,
    title TEXT,
    model TEXT,
    metadata TEXT,
    system TEXT,
    UNIQUE (tenant, id)
) STRICT;
CREATE INDEX conversation_by_activity ON conversation (tenant, user, updated_at, key) WHERE id IS NOT NULL;

-- `position` is the order of writing in this file. `kind` as in store/codec.py: up to 8 an entry continues a branch, above
-- it is a remark, and carries the head and the newest entry of any branch as they are after it.
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
    parts BLOB
) STRICT;
CREATE UNIQUE INDEX entry_by_seq ON entry (tenant, conversation, seq);
CREATE INDEX entry_state_and_summary ON entry (tenant, conversation, kind, seq) WHERE kind IN (8, 9);

-- Where an entry does not continue the one stored before it: see conversation/tree.py.
CREATE TABLE jump (
    tenant INTEGER NOT NULL,
    conversation INTEGER NOT NULL,
    first INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    "left" INTEGER NOT NULL,
    beside INTEGER NOT NULL,
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
    taken INTEGER NOT NULL,
    PRIMARY KEY (tenant, conversation, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_by_lease ON turn (until) WHERE state = 'running';

-- The message being written: one in a conversation at most, its text in pieces. `bytes` counts the text up to the end of the piece.
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
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX key_by_conversation ON key (tenant, conversation);

-- Words of entries, by position. Text is prepared in store/words.py; a word that begins with ¤ names a user or a conversation.
CREATE VIRTUAL TABLE word USING fts5 (
    words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

-- Up to which position the derived columns and the words are complete.
CREATE TABLE caught_up (position INTEGER NOT NULL) STRICT;
INSERT INTO caught_up VALUES (0);
