-- The words of titles, by which conversations are found. They are written with the title, and not in batches.
CREATE TABLE title_word (
    tenant INTEGER NOT NULL,
    conversation INTEGER NOT NULL,
    word TEXT NOT NULL,
    user INTEGER NOT NULL,
    PRIMARY KEY (tenant, conversation, word)
) STRICT, WITHOUT ROWID;
CREATE INDEX title_by_word ON title_word (tenant, user, word, conversation);
INSERT INTO title_word
SELECT c.tenant, c.key, w.value, c.user FROM conversation c, json_each(title_words(c.title)) w;
