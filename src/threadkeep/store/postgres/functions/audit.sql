-- The audit log: see store/audit.py, where hashes are made.

-- Keep an act until it gets its place in the chain.
CREATE FUNCTION threadkeep.add_act(p_tenant integer, p_act text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    INSERT INTO threadkeep.audit_pending (tenant, act) VALUES (p_tenant, p_act);
END $$;

CREATE FUNCTION threadkeep.pending_acts(p_tenant integer, p_limit integer)
RETURNS TABLE (key bigint, act text[]) LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    RETURN QUERY SELECT p.key, p.act FROM threadkeep.audit_pending p WHERE p.tenant = p_tenant ORDER BY p.key LIMIT p_limit;
END $$;

-- Put rows at the end of the chain, in place of pending acts and of the rows up to `p_through`. If somebody else was faster, a
-- primary key is taken or an act is not pending any more.
CREATE FUNCTION threadkeep.chain_acts(
    p_tenant integer, p_pending bigint[], p_through integer, p_rows threadkeep.audit[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    added threadkeep.audit;
    done integer;
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    FOREACH added IN ARRAY p_rows LOOP
        INSERT INTO threadkeep.audit VALUES (
            p_tenant, added.seq, added.at, added.actor, added.action, added.object, added.details, added.address,
            added.request, added.hash
        );
    END LOOP;
    DELETE FROM threadkeep.audit_pending p WHERE p.tenant = p_tenant AND p.key = ANY (p_pending);
    GET DIAGNOSTICS done = ROW_COUNT;
    IF done < cardinality(p_pending) THEN
        RAISE unique_violation USING MESSAGE = 'an act has its place by now';
    END IF;
    DELETE FROM threadkeep.audit a WHERE a.tenant = p_tenant AND a.seq <= p_through;
END $$;

-- Return rows that fit all that is not null, upwards or downwards. Planned for what is asked, so that an index is used.
CREATE FUNCTION threadkeep.acts(
    p_tenant integer, p_actor text, p_actions text[], p_object text, p_since text, p_until text, p_above integer,
    p_below integer, p_downwards boolean, p_limit integer
) RETURNS SETOF threadkeep.audit LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    RETURN QUERY EXECUTE
        'SELECT a.* FROM threadkeep.audit a WHERE a.tenant = $1 AND ($2 IS NULL OR a.actor = $2) '
        'AND ($3 IS NULL OR a.action = ANY ($3)) AND ($4 IS NULL OR a.object = $4) AND ($5 IS NULL OR a.at >= $5) '
        'AND ($6 IS NULL OR a.at < $6) AND ($7 IS NULL OR a.seq > $7) AND ($8 IS NULL OR a.seq < $8) ORDER BY a.seq '
        || CASE WHEN p_downwards THEN 'DESC' ELSE 'ASC' END || ' LIMIT $9'
    USING p_tenant, p_actor, p_actions, p_object, p_since, p_until, p_above, p_below, p_limit;
END $$;
