-- API keys and logins are looked up before any tenant is known. What changes one takes an act for the audit log along.

-- Keep an act, if there is one, for a tenant that is known by name.
CREATE FUNCTION threadkeep.record_act(p_tenant text, p_act text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_act IS NOT NULL THEN
        PERFORM threadkeep.add_act(threadkeep.tenant_key(p_tenant, true), p_act);
    END IF;
END $$;

CREATE FUNCTION threadkeep.add_api_key(
    p_id text, p_digest bytea, p_hint text, p_tenant text, p_person text, p_role text, p_created_at timestamptz,
    p_expires_at timestamptz, p_act_tenant text, p_act text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE is_added boolean;
BEGIN
    INSERT INTO threadkeep.api_key (id, digest, hint, tenant, person, role, created_at, expires_at)
    VALUES (p_id, p_digest, p_hint, p_tenant, p_person, p_role, p_created_at, p_expires_at) ON CONFLICT DO NOTHING;
    is_added := FOUND;
    IF is_added THEN
        PERFORM threadkeep.record_act(p_act_tenant, p_act);
    END IF;
    RETURN is_added;
END $$;

CREATE FUNCTION threadkeep.find_api_key(p_digest bytea) RETURNS SETOF threadkeep.api_key LANGUAGE sql STABLE AS $$
    SELECT * FROM threadkeep.api_key k WHERE k.digest = p_digest
$$;

CREATE FUNCTION threadkeep.api_keys(p_tenant text) RETURNS SETOF threadkeep.api_key LANGUAGE sql STABLE AS $$
    SELECT * FROM threadkeep.api_key k WHERE p_tenant IS NULL OR k.tenant = p_tenant ORDER BY k.created_at, k.id
$$;

CREATE FUNCTION threadkeep.revoke_api_key(p_id text, p_at timestamptz, p_act_tenant text, p_act text[])
RETURNS SETOF threadkeep.api_key LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM threadkeep.login l WHERE l.key = p_id;
    RETURN QUERY UPDATE threadkeep.api_key k SET revoked_at = coalesce(k.revoked_at, p_at) WHERE k.id = p_id RETURNING k.*;
    IF FOUND THEN
        PERFORM threadkeep.record_act(p_act_tenant, p_act);
    END IF;
END $$;

-- The server's role cannot remove keys otherwise.
CREATE FUNCTION threadkeep.forget_api_keys(p_tenant text, p_person text, OUT forgotten bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM threadkeep.login l USING threadkeep.api_key k
    WHERE l.key = k.id AND k.tenant = p_tenant AND k.person = p_person;
    WITH gone AS (
        DELETE FROM threadkeep.api_key k WHERE k.tenant = p_tenant AND k.person = p_person RETURNING 1
    ) SELECT count(*) FROM gone
$$;

CREATE FUNCTION threadkeep.add_login(
    p_id text, p_digest bytea, p_key text, p_device text, p_created_at timestamptz, p_idle_until timestamptz,
    p_ends_at timestamptz, p_most integer, p_act_tenant text, p_act text[]
) RETURNS void LANGUAGE sql AS $$
    DELETE FROM threadkeep.login l WHERE least(l.idle_until, l.ends_at) < p_created_at;
    DELETE FROM threadkeep.login l WHERE l.id IN (
        SELECT o.id FROM threadkeep.login o
        WHERE o.key = p_key ORDER BY o.created_at DESC, o.id DESC OFFSET p_most - 1
    );
    INSERT INTO threadkeep.login (id, digest, key, device, created_at, idle_until, ends_at)
    VALUES (p_id, p_digest, p_key, p_device, p_created_at, p_idle_until, p_ends_at);
    SELECT threadkeep.record_act(p_act_tenant, p_act)
$$;

CREATE FUNCTION threadkeep.find_login(p_digest bytea)
RETURNS TABLE (login threadkeep.login, key threadkeep.api_key) LANGUAGE sql STABLE AS $$
    SELECT l, k FROM threadkeep.login l JOIN threadkeep.api_key k ON k.id = l.key WHERE l.digest = p_digest
$$;

CREATE FUNCTION threadkeep.logins(p_tenant text, p_person text)
RETURNS TABLE (login threadkeep.login, key threadkeep.api_key) LANGUAGE sql STABLE AS $$
    SELECT l, k FROM threadkeep.login l JOIN threadkeep.api_key k ON k.id = l.key
    WHERE (p_tenant IS NULL OR k.tenant = p_tenant) AND (p_person IS NULL OR k.person = p_person)
    ORDER BY l.created_at, l.id
$$;

CREATE FUNCTION threadkeep.renew_login(p_digest bytea, p_idle_until timestamptz) RETURNS void LANGUAGE sql AS $$
    UPDATE threadkeep.login l SET idle_until = p_idle_until WHERE l.digest = p_digest
$$;

CREATE FUNCTION threadkeep.end_login(p_id text, p_act_tenant text, p_act text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY DELETE FROM threadkeep.login l WHERE l.id = p_id RETURNING l.id;
    IF FOUND THEN
        PERFORM threadkeep.record_act(p_act_tenant, p_act);
    END IF;
END $$;

CREATE FUNCTION threadkeep.store_secret() RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT s.value FROM threadkeep.secret s
$$;
