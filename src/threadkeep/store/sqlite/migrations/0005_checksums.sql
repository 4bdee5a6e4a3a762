-- Checksums of rows: see checksums.py. A process of an earlier release that still runs must write no more.
ALTER TABLE entry ADD COLUMN crc INTEGER;
UPDATE entry SET crc = entry_checksum(
    tenant, conversation, seq, parent, kind, turn, created_at, id, tokens, head, newest, content, parts
);
ALTER TABLE conversation ADD COLUMN crc INTEGER;
ALTER TABLE conversation ADD COLUMN settings_crc INTEGER;
UPDATE conversation SET crc = checksum(
    key, tenant, user, coalesce(id, deleted_id), version, created_at, status, archived, assistant, title, model
), settings_crc = checksum(key, metadata, system);
ALTER TABLE jump ADD COLUMN crc INTEGER;
UPDATE jump SET crc = checksum(tenant, conversation, first, parent, "left", beside);
ALTER TABLE chunk ADD COLUMN crc INTEGER;
UPDATE chunk SET crc = checksum(tenant, conversation, "offset", "end", bytes, text);
ALTER TABLE key ADD COLUMN crc INTEGER;
UPDATE key SET crc = checksum(tenant, name, digest, conversation, first, last);

CREATE TRIGGER entry_of_earlier_release BEFORE INSERT ON entry WHEN new.crc IS NULL
BEGIN
    SELECT raise(ABORT, 'this process is of an earlier release than the file');
END;

-- How many entries the log has at least; derived, like `updated_at` and `bytes`.
ALTER TABLE conversation ADD COLUMN entries INTEGER NOT NULL DEFAULT 0;

-- What is written and read to find out whether that is possible.
CREATE TABLE pulse (beats INTEGER NOT NULL) STRICT;
INSERT INTO pulse VALUES (0);

-- The words are removed from the index when their entry is, not only marked: nothing that was deleted stays readable.
DROP TABLE word;
CREATE VIRTUAL TABLE word USING fts5 (words, content = '', detail = none, tokenize = 'ascii');
INSERT INTO word (word, rank) VALUES ('secure-delete', 1);
UPDATE conversation SET bytes = 0;
UPDATE caught_up SET position = 0;
