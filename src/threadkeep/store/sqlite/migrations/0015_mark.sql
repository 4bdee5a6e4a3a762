-- The mark that every commit replaces, by which a file and its log know each other: a fixed beginning, the store, the
-- number of the commit, the token of the commit before and its own. See store/sqlite/pair.py.
CREATE TABLE log_mark (value BLOB NOT NULL) STRICT;
INSERT INTO log_mark VALUES (
    unhex('746B2D6D61726B3A' || hex(randomblob(16)) || hex(zeroblob(16)) || hex(randomblob(8)))
);
