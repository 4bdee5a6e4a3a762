-- Time that decides who may write, or what is gone for good, is read from the clock of the database: instances need not agree.
CREATE FUNCTION threadkeep.moment() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

-- As in 0012; and a lease that ends after `p_latest` was given by a clock that was ahead.
DROP FUNCTION threadkeep.expired;
CREATE FUNCTION threadkeep.expired(p_now timestamptz, p_latest timestamptz, p_limit integer)
RETURNS TABLE (
    tenant text, user_name text, conversation bytea, number integer, state text, owner text, fence integer,
    taken integer, until timestamptz
) LANGUAGE sql STABLE AS $$
    SELECT t.tenant_name, t.user_name, t.conversation_id, t.number, t.state, t.owner, t.fence, t.taken, t.until
    FROM threadkeep.turn t
    WHERE (t.state = 'running' AND (t.until < p_now OR t.until > p_latest)
       OR t.state = 'queued' AND NOT EXISTS (
           SELECT FROM threadkeep.turn o
           WHERE o.tenant = t.tenant AND o.conversation = t.conversation
             AND (o.state <> 'queued' OR o.number < t.number)
       ))
      AND NOT EXISTS (
           SELECT FROM threadkeep.removal r WHERE r.tenant = t.tenant AND r.conversation = t.conversation
       )
    ORDER BY t.until NULLS LAST LIMIT p_limit
$$;

-- As in 0012; what was deleted at that very moment is removed too.
CREATE OR REPLACE FUNCTION threadkeep.next_removal(p_before timestamptz, OUT tenant integer, OUT conversation bigint)
LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        SELECT r.tenant, r.conversation INTO tenant, conversation FROM threadkeep.removal r
        WHERE r.deleted_at <= p_before ORDER BY r.deleted_at LIMIT 1;
        EXIT WHEN NOT FOUND;
        PERFORM threadkeep.work_for(tenant);
        UPDATE threadkeep.conversation c SET deleted_id = NULL
        WHERE c.tenant = next_removal.tenant AND c.key = next_removal.conversation AND c.id IS NULL;
        -- Otherwise it was restored or purged since we looked.
        EXIT WHEN FOUND;
    END LOOP;
END $$;

REVOKE ALL ON FUNCTION threadkeep.moment, threadkeep.expired FROM PUBLIC;
GRANT EXECUTE ON FUNCTION threadkeep.moment, threadkeep.expired TO threadkeep_server;
