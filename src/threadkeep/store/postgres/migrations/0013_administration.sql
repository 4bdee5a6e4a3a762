-- For administrators of a tenant: the conversations of all its users, and who they are.
CREATE INDEX conversation_by_activity_of_all ON threadkeep.conversation (tenant, updated_at, key) WHERE id IS NOT NULL;

-- As `list`, of all users.
CREATE FUNCTION threadkeep.list_tenant(p_tenant text, p_before timestamptz, p_key bigint, p_limit integer)
RETURNS TABLE (user_name text, now threadkeep.conversation_now) LANGUAGE plpgsql STABLE AS $$
DECLARE here integer;
BEGIN
    SELECT s.tenant INTO here FROM threadkeep.scope(p_tenant, NULL) s;
    RETURN QUERY
    WITH late AS (
        SELECT n.* FROM threadkeep.behind b
        JOIN threadkeep.conversation_now n ON n.tenant = b.tenant AND n.key = b.conversation
        WHERE b.tenant = here AND (n.updated_at, n.key) < (p_before, p_key)
        ORDER BY n.updated_at DESC, n.key DESC LIMIT p_limit
    ), calm AS (
        SELECT c.key FROM threadkeep.conversation c
        WHERE c.tenant = here AND c.id IS NOT NULL AND (c.updated_at, c.key) < (p_before, p_key)
          AND coalesce((
              SELECT false FROM threadkeep.behind b
              WHERE b.tenant = here AND b.owner = c.owner AND b.conversation = c.key
          ), true)
        ORDER BY c.updated_at DESC, c.key DESC LIMIT p_limit
    ), page AS (
        SELECT * FROM (
            SELECT * FROM late
            UNION ALL
            SELECT n.* FROM calm JOIN threadkeep.conversation_now n ON n.tenant = here AND n.key = calm.key
        ) both_kinds ORDER BY updated_at DESC, key DESC LIMIT p_limit
    )
    SELECT p.name, page::threadkeep.conversation_now FROM page
    JOIN threadkeep.person p ON p.tenant = here AND p.key = page.owner
    ORDER BY page.updated_at DESC, page.key DESC;
END $$;

CREATE FUNCTION threadkeep.users(p_tenant text) RETURNS TABLE (name text) LANGUAGE plpgsql STABLE AS $$
DECLARE here integer;
BEGIN
    SELECT s.tenant INTO here FROM threadkeep.scope(p_tenant, NULL) s;
    RETURN QUERY SELECT p.name FROM threadkeep.person p
    WHERE p.tenant = here AND EXISTS (
        SELECT FROM threadkeep.conversation c WHERE c.tenant = here AND c.owner = p.key AND c.id IS NOT NULL
    ) ORDER BY p.name;
END $$;

REVOKE ALL ON FUNCTION threadkeep.list_tenant, threadkeep.users FROM PUBLIC;
GRANT EXECUTE ON FUNCTION threadkeep.list_tenant, threadkeep.users TO threadkeep_server;
