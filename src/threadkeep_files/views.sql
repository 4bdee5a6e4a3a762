-- What a store in a folder knows of its readable files, in its database beside the log. `changed` counts what a view
-- should show, `shown` is how much of that the file had when it was written, with `head` as its last message. `inode`,
-- `size` and `modified` are those of the file that was last written or taken in, `digest` stands for its bytes. A number
-- names what belongs to a view: a conversation may get the key of one that is gone.
CREATE TABLE IF NOT EXISTS view (
    conversation INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    shown INTEGER NOT NULL,
    head INTEGER NOT NULL,
    digest BLOB,
    inode INTEGER,
    size INTEGER,
    modified INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS view_behind ON view (conversation) WHERE changed <> shown;

-- Every view that we wrote or took in: such a file is none that another program has changed.
CREATE TABLE IF NOT EXISTS view_digest (
    number INTEGER NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (number, digest)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER IF NOT EXISTS view_of_conversation AFTER INSERT ON conversation BEGIN
    INSERT OR REPLACE INTO view VALUES (new.key, random(), 1, 0, 0, NULL, NULL, NULL, NULL);
END;
-- Deleted, or restored.
CREATE TRIGGER IF NOT EXISTS view_of_id AFTER UPDATE OF id ON conversation BEGIN
    UPDATE view SET changed = changed + 1 WHERE conversation = new.key;
END;
CREATE TRIGGER IF NOT EXISTS view_of_entry AFTER INSERT ON entry BEGIN
    UPDATE view SET changed = changed + 1 WHERE conversation = new.conversation;
END;
