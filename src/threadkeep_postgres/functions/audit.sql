-- The audit log: see store/audit.py, where hashes are made.

-- Keep an act until it gets its place in the chain; unless told otherwise it took place now.
CREATE FUNCTION threadkeep.add_act(p_tenant integer, p_act text[], p_at timestamptz DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE happened timestamptz := coalesce(p_at, clock_timestamp());
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    INSERT INTO threadkeep.audit_pending (tenant, at, act) VALUES (p_tenant, happened, p_act);
END $$;

-- Let the acts about keys and logins of a tenant wait where its others do. Not for a tenant in the sense of the others: it is never
-- sent to the tenant's machine, because it takes them from tables that are not there.
CREATE FUNCTION threadkeep.make_pending(p_of integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE kept record;
BEGIN
    FOR kept IN DELETE FROM threadkeep.key_act a WHERE a.tenant_key = p_of RETURNING a.act, a.at LOOP
        PERFORM threadkeep.add_act(p_of, kept.act, kept.at);
    END LOOP;
END $$;

-- Take pending acts out of a cell that is not the home of its tenant, in the transaction that adds them there.
CREATE FUNCTION threadkeep.take_acts(p_tenant integer, p_most integer) RETURNS TABLE (at timestamptz, act text[])
LANGUAGE plpgsql AS $$
DECLARE taken bigint[];
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    SELECT array_agg(o.key) INTO taken FROM (
        SELECT p.key FROM threadkeep.audit_pending p WHERE p.tenant = p_tenant ORDER BY p.at, p.key LIMIT p_most
    ) o;
    RETURN QUERY
    DELETE FROM threadkeep.audit_pending p WHERE p.tenant = p_tenant AND p.key = ANY (taken) RETURNING p.at, p.act;
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
    PERFORM threadkeep.works_for(p_tenant);
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

