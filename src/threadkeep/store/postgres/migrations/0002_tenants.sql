-- Row-level security: the second wall between tenants. A function of ours says first for which tenant it works; without
-- that, or with another tenant, every table with content is empty. The setting is '' after a transaction that had set it.

CREATE FUNCTION threadkeep.present_tenant() RETURNS integer LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('threadkeep.tenant', true), '')::integer;

ALTER TABLE threadkeep.person ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.conversation ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.entry ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.jump ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.chunk ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE threadkeep.key ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
-- Not forced: the operator @@ may not use an index under a policy, so that the owner's function `candidates`, which
-- names tenant and user itself, must be free of it.
ALTER TABLE threadkeep.word ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON threadkeep.person USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.conversation USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.entry USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.jump USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.chunk USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.key USING (tenant = threadkeep.present_tenant());
CREATE POLICY tenant ON threadkeep.word USING (tenant = threadkeep.present_tenant());

-- Work for a tenant from here to the end of the transaction.
CREATE FUNCTION threadkeep.work_for(p_tenant integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
END $$;

-- Return the keys of a tenant and a user, null where they never stored anything.
CREATE FUNCTION threadkeep.scope(p_tenant text, p_user text, OUT tenant integer, OUT owner integer)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT t.key INTO tenant FROM threadkeep.tenant t WHERE t.name = p_tenant;
    PERFORM threadkeep.work_for(tenant);
    SELECT p.key INTO owner FROM threadkeep.person p WHERE p.tenant = scope.tenant AND p.name = p_user;
END $$;

-- Return the keys of a tenant and a user, made where they are missing.
CREATE FUNCTION threadkeep.enter(p_tenant text, p_user text, OUT tenant integer, OUT owner integer)
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO threadkeep.tenant (name) VALUES (p_tenant) ON CONFLICT DO NOTHING;
    SELECT t.key INTO tenant FROM threadkeep.tenant t WHERE t.name = p_tenant;
    PERFORM threadkeep.work_for(tenant);
    INSERT INTO threadkeep.person (tenant, name) VALUES (enter.tenant, p_user) ON CONFLICT DO NOTHING;
    SELECT p.key INTO owner FROM threadkeep.person p WHERE p.tenant = enter.tenant AND p.name = p_user;
END $$;
