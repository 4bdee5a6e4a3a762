-- For whom a function works. Time that decides who may write, or what is gone for good, is read from the clock of the
-- database: instances need not agree.

-- Time that decides who may write, or what is gone for good, is read from the clock of the database: instances need not agree.
CREATE FUNCTION threadkeep.moment() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

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

CREATE FUNCTION threadkeep.tenants() RETURNS TABLE (name text) LANGUAGE sql STABLE AS $$
    SELECT t.name FROM threadkeep.tenant t ORDER BY t.name
$$;

CREATE FUNCTION threadkeep.ping() RETURNS void LANGUAGE sql AS $$
    UPDATE threadkeep.pulse SET at = now()
$$;
