-- API keys are looked up before any tenant is known.

CREATE FUNCTION threadkeep.add_api_key(
    p_id text, p_digest bytea, p_hint text, p_tenant text, p_person text, p_role text, p_created_at timestamptz
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO threadkeep.api_key (id, digest, hint, tenant, person, role, created_at)
    VALUES (p_id, p_digest, p_hint, p_tenant, p_person, p_role, p_created_at) ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;

CREATE FUNCTION threadkeep.find_api_key(p_digest bytea) RETURNS SETOF threadkeep.api_key LANGUAGE sql STABLE AS $$
    SELECT * FROM threadkeep.api_key k WHERE k.digest = p_digest
$$;

CREATE FUNCTION threadkeep.api_keys(p_tenant text) RETURNS SETOF threadkeep.api_key LANGUAGE sql STABLE AS $$
    SELECT * FROM threadkeep.api_key k WHERE p_tenant IS NULL OR k.tenant = p_tenant ORDER BY k.created_at, k.id
$$;

CREATE FUNCTION threadkeep.revoke_api_key(p_id text, p_at timestamptz) RETURNS SETOF threadkeep.api_key LANGUAGE sql AS $$
    UPDATE threadkeep.api_key k SET revoked_at = coalesce(k.revoked_at, p_at) WHERE k.id = p_id RETURNING *
$$;
