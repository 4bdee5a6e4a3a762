-- For whom a function works, and who the users of a tenant are.

-- Time that decides who may write, or what is gone for good, is read from the clock of the database: instances need not agree.
CREATE FUNCTION threadkeep.moment() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

-- Work for a tenant from here to the end of the transaction: what row-level security lets through. True, so that it may be a
-- condition of a statement; said to be stable, because a condition that is not is asked too late.
CREATE FUNCTION threadkeep.works_for(p_tenant integer) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    RETURN true;
END $$;

-- What stands for the name of whom nothing is stored any more; no id begins with a tilde.
CREATE FUNCTION threadkeep.pseudonym(p_tenant integer, p_user text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT '~' || encode(sha256(s.value || convert_to(p_tenant || ' ' || p_user, 'UTF8')), 'hex') FROM threadkeep.secret s
$$;

-- Return the key of a user, made of this one where it is missing; null where it is too late for that: they may live in another cell.
-- Who comes back has the same key again, which others may remember.
CREATE FUNCTION threadkeep.enter_person(
    p_tenant integer, p_user text, p_key integer, p_until timestamptz DEFAULT 'infinity', OUT owner integer
) LANGUAGE plpgsql AS $$
DECLARE unnamed text := threadkeep.pseudonym(p_tenant, p_user);
BEGIN
    IF threadkeep.moment() >= p_until THEN
        RETURN;
    END IF;
    PERFORM threadkeep.works_for(p_tenant);
    SELECT p.key INTO owner FROM threadkeep.person p
    WHERE p.tenant = p_tenant AND p.name IN (p_user, unnamed) FOR UPDATE;
    IF FOUND THEN
        UPDATE threadkeep.person p SET name = p_user WHERE p.tenant = p_tenant AND p.name = unnamed;
    ELSE
        INSERT INTO threadkeep.person (tenant, key, name) VALUES (p_tenant, p_key, p_user) ON CONFLICT DO NOTHING;
        SELECT p.key INTO owner FROM threadkeep.person p WHERE p.tenant = p_tenant AND p.name = p_user;
    END IF;
END $$;

-- Put the pseudonym in the place of a name of whom nothing is left. Who `is_erased`, has used nothing any more either.
CREATE FUNCTION threadkeep.forget_person(p_tenant integer, p_owner integer, is_erased boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE known text;
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    IF is_erased THEN
        DELETE FROM threadkeep.usage g WHERE g.tenant = p_tenant AND g.owner = p_owner AND p_owner > 0;
    END IF;
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

