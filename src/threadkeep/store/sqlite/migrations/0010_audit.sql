-- Who did what, when and from where: a chain of hashes for each tenant, see store/audit.py. All but `seq` is text, as it is hashed.
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
