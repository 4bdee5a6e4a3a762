-- The documents, whole. `digest` tells whether one that is added again has changed.
CREATE TABLE document (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL,
    digest BLOB NOT NULL
) STRICT;

-- The metadata once more, one row a field, to be filtered by.
CREATE TABLE field (
    document INTEGER NOT NULL REFERENCES document (key),
    name TEXT NOT NULL,
    value ANY NOT NULL,
    PRIMARY KEY (name, value, document)
) STRICT, WITHOUT ROWID;
CREATE INDEX field_of_document ON field (document);

-- What is found: stretches of a document's text, in characters. A vector without a direction is NULL.
CREATE TABLE passage (
    key INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES document (key),
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    vector BLOB
) STRICT;
CREATE INDEX passage_of_document ON passage (document);

-- The words of each passage, by its key. Text falls into words in text/words.py; here they are only stemmed.
CREATE VIRTUAL TABLE word USING fts5 (title, body, content = '', contentless_delete = 1, tokenize = 'porter ascii');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (word, 'row');

-- One row: what made the vectors, and how long they are (0 as long as there are none).
CREATE TABLE embedding (name TEXT NOT NULL, dimensions INTEGER NOT NULL) STRICT;
