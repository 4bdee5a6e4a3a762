-- Keys that end by themselves, and digests of what browsers show that were let in with a key. Like the keys, logins are
-- looked up before any tenant is known and hold no content, hence no row-level security.
ALTER TABLE threadkeep.api_key ADD COLUMN expires_at timestamptz;

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

GRANT SELECT, INSERT, UPDATE, DELETE ON threadkeep.login TO threadkeep_server;
