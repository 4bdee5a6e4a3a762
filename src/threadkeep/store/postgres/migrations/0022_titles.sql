-- The words of titles, by which conversations are found. They are written with the title, and not in batches; those of the
-- titles that are there already are computed in schema.py.
CREATE TABLE threadkeep.title_word (
    conversation bigint NOT NULL,
    tenant integer NOT NULL,
    owner integer NOT NULL,
    word text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, conversation, word)
);
CREATE INDEX title_by_word ON threadkeep.title_word (tenant, owner, word, conversation);
ALTER TABLE threadkeep.title_word ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON threadkeep.title_word USING (tenant = threadkeep.present_tenant());
GRANT SELECT, INSERT, DELETE ON threadkeep.title_word TO threadkeep_server;
ALTER TYPE threadkeep.change ADD ATTRIBUTE title_words text[];
