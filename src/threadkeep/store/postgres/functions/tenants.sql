-- For whom a function works. Time that decides who may write, or what is gone for good, is read from the clock of the
-- database: instances need not agree.

-- Time that decides who may write, or what is gone for good, is read from the clock of the database: instances need not agree.
CREATE FUNCTION threadkeep.moment() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

-- Work for a tenant from here to the end of the transaction.
CREATE FUNCTION threadkeep.work_for(p_tenant integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
END $$;

-- Return the key of a tenant, made if it is missing and wanted.
CREATE FUNCTION threadkeep.tenant_key(p_name text, p_make boolean) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    IF p_make THEN
        INSERT INTO threadkeep.tenant (name) VALUES (p_name) ON CONFLICT DO NOTHING;
    END IF;
    RETURN (SELECT t.key FROM threadkeep.tenant t WHERE t.name = p_name);
END $$;

-- Return the key of a user, null if it never stored anything.
CREATE FUNCTION threadkeep.find_person(p_tenant integer, p_user text, OUT owner integer) LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM threadkeep.work_for(p_tenant);
    SELECT p.key INTO owner FROM threadkeep.person p WHERE p.tenant = p_tenant AND p.name = p_user;
END $$;

-- What stands for the name of whom nothing is stored any more; no id begins with a tilde.
CREATE FUNCTION threadkeep.pseudonym(p_tenant integer, p_user text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT '~' || encode(sha256(s.value || convert_to(p_tenant || ' ' || p_user, 'UTF8')), 'hex') FROM threadkeep.secret s
$$;

-- Draw a key for a person. Not in the statement that stores it: a machine to which that is sent has sequences of its own.
CREATE FUNCTION threadkeep.draw_key() RETURNS integer LANGUAGE sql VOLATILE AS $$
    SELECT nextval('threadkeep.person_key')::integer
$$;

-- Return the key of a user, made of this one where it is missing. Who comes back has the same key again, which others may remember.
CREATE FUNCTION threadkeep.enter_person(p_tenant integer, p_user text, p_key integer, OUT owner integer)
LANGUAGE plpgsql AS $$
DECLARE unnamed text := threadkeep.pseudonym(p_tenant, p_user);
BEGIN
    PERFORM threadkeep.work_for(p_tenant);
    SELECT p.key INTO owner FROM threadkeep.person p
    WHERE p.tenant = p_tenant AND p.name IN (p_user, unnamed) FOR UPDATE;
    IF FOUND THEN
        UPDATE threadkeep.person p SET name = p_user WHERE p.tenant = p_tenant AND p.name = unnamed;
    ELSE
        INSERT INTO threadkeep.person (tenant, key, name) VALUES (p_tenant, p_key, p_user) ON CONFLICT DO NOTHING;
        SELECT p.key INTO owner FROM threadkeep.person p WHERE p.tenant = p_tenant AND p.name = p_user;
    END IF;
END $$;

-- Put the pseudonym in the place of a name of whom nothing is left.
CREATE FUNCTION threadkeep.forget_person(p_tenant integer, p_owner integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE known text;
BEGIN
    PERFORM threadkeep.work_for(p_tenant);
    -- In a statement of its own: the next one sees what those have committed who held this row.
    SELECT p.name INTO known FROM threadkeep.person p WHERE p.tenant = p_tenant AND p.key = p_owner FOR UPDATE;
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
    IF NOT starts_with(known, '~') THEN
        known := threadkeep.pseudonym(p_tenant, known);
        UPDATE threadkeep.person p SET name = known WHERE p.tenant = p_tenant AND p.key = p_owner;
    END IF;
END $$;

-- Return all tenants, or those for whom a background job has something to do. Only that looks at all tenants at once, to spare
-- asking each: where it cannot be answered, because one of several machines is away, each is asked.
CREATE FUNCTION threadkeep.tenants(p_job text, p_lease interval)
RETURNS TABLE (key integer, name text) LANGUAGE plpgsql STABLE AS $$
DECLARE
    now timestamptz := threadkeep.moment();
    latest timestamptz := now + 2 * p_lease;
    found_keys integer[];
BEGIN
    IF p_job = 'recovery' THEN
        found_keys := ARRAY(
            SELECT DISTINCT t.tenant FROM threadkeep.turn t
            WHERE t.state = 'queued' OR t.state = 'running' AND (t.until < now OR t.until > latest)
        );
    ELSIF p_job = 'indexing' THEN
        found_keys := ARRAY(SELECT DISTINCT b.tenant FROM threadkeep.behind b);
    ELSIF p_job = 'purging' THEN
        found_keys := ARRAY(SELECT DISTINCT r.tenant FROM threadkeep.removal r);
    END IF;
    RETURN QUERY SELECT t.key, t.name FROM threadkeep.tenant t
    WHERE p_job IS NULL OR t.key = ANY (found_keys) ORDER BY t.name;
END $$;

CREATE FUNCTION threadkeep.ping() RETURNS void LANGUAGE sql AS $$
    UPDATE threadkeep.pulse SET at = now()
$$;
