-- Who did what, when and from where: a chain of hashes for each tenant, see store/audit.py. All but `seq` is text, as it is
-- hashed. An act is first kept as pending, in the commit of what it tells of, so that writers do not wait for each other;
-- whoever reads gives it its place in the chain. The server's role cannot change a record.
CREATE TABLE threadkeep.audit (
    tenant integer NOT NULL,
    seq integer NOT NULL,
    at text COLLATE "C" NOT NULL,
    actor text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    object text COLLATE "C" NOT NULL,
    details text NOT NULL,
    address text NOT NULL,
    request text NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (tenant, seq)
);
CREATE INDEX audit_by_action ON threadkeep.audit (tenant, action, seq);

CREATE TABLE threadkeep.audit_pending (
    tenant integer NOT NULL,
    key bigint GENERATED ALWAYS AS IDENTITY,
    act text[] NOT NULL,
    PRIMARY KEY (tenant, key)
);

ALTER TABLE threadkeep.audit ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.audit_pending ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON threadkeep.audit USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.audit_pending USING (tenant = threadkeep.present_tenant());
GRANT SELECT, INSERT, DELETE ON threadkeep.audit, threadkeep.audit_pending TO threadkeep_server;
