-- API keys and logins are looked up before any tenant is known: see statements/keys.sql. The server's role cannot remove keys but
-- by this.
CREATE FUNCTION threadkeep.forget_api_keys(p_tenant text, p_person text, OUT forgotten bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM threadkeep.login l USING threadkeep.api_key k
    WHERE l.key = k.id AND k.tenant = p_tenant AND k.person = p_person;
    WITH gone AS (
        DELETE FROM threadkeep.api_key k WHERE k.tenant = p_tenant AND k.person = p_person RETURNING 1
    ) SELECT count(*) FROM gone
$$;

