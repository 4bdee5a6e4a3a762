-- See store/notes.py. No content, hence no row-level security; like API keys they are found before any tenant is known.
CREATE TABLE threadkeep.note (
    version bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (tenant, name)
);
CREATE INDEX note_by_name ON threadkeep.note (name);
