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
    owner := threadkeep.enter_person(tenant, p_user);
END $$;

-- What stands for the name of whom nothing is stored any more; no id begins with a tilde.
CREATE FUNCTION threadkeep.pseudonym(p_tenant integer, p_user text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT '~' || encode(sha256(s.value || convert_to(p_tenant || ' ' || p_user, 'UTF8')), 'hex') FROM threadkeep.secret s
$$;

-- Return the key of a user, made where it is missing. Who comes back has the same key again, which others may remember.
CREATE FUNCTION threadkeep.enter_person(p_tenant integer, p_user text, OUT owner integer) LANGUAGE plpgsql AS $$
DECLARE unnamed text := threadkeep.pseudonym(p_tenant, p_user);
BEGIN
    SELECT p.key INTO owner FROM threadkeep.person p
    WHERE p.tenant = p_tenant AND p.name IN (p_user, unnamed) FOR UPDATE;
    IF FOUND THEN
        UPDATE threadkeep.person p SET name = p_user WHERE p.tenant = p_tenant AND p.name = unnamed;
    ELSE
        INSERT INTO threadkeep.person (tenant, name) VALUES (p_tenant, p_user) ON CONFLICT DO NOTHING;
        SELECT p.key INTO owner FROM threadkeep.person p WHERE p.tenant = p_tenant AND p.name = p_user;
    END IF;
END $$;

-- Put the pseudonym in the place of a name of whom nothing is left.
CREATE FUNCTION threadkeep.forget_person(p_tenant integer, p_owner integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM threadkeep.work_for(p_tenant);
    -- In a statement of its own: the next one sees what those have committed who held this row.
    PERFORM FROM threadkeep.person p WHERE p.tenant = p_tenant AND p.key = p_owner FOR UPDATE;
    IF EXISTS (
        SELECT FROM threadkeep.conversation c WHERE c.tenant = p_tenant AND c.owner = p_owner AND c.id IS NOT NULL
    ) OR EXISTS (
        SELECT FROM threadkeep.removal r JOIN threadkeep.conversation c ON c.tenant = r.tenant AND c.key = r.conversation
        WHERE r.tenant = p_tenant AND c.owner = p_owner
    ) OR EXISTS (
        SELECT FROM threadkeep.file f WHERE f.tenant = p_tenant AND f.owner = p_owner
    ) OR EXISTS (
        SELECT FROM threadkeep.file_blob b WHERE b.tenant = p_tenant AND b.owner = p_owner
    ) THEN
        RETURN;
    END IF;
    UPDATE threadkeep.person p SET name = threadkeep.pseudonym(p_tenant, p.name)
    WHERE p.tenant = p_tenant AND p.key = p_owner AND NOT starts_with(p.name, '~');
END $$;

CREATE FUNCTION threadkeep.tenants() RETURNS TABLE (name text) LANGUAGE sql STABLE AS $$
    SELECT t.name FROM threadkeep.tenant t ORDER BY t.name
$$;

CREATE FUNCTION threadkeep.ping() RETURNS void LANGUAGE sql AS $$
    UPDATE threadkeep.pulse SET at = now()
$$;
