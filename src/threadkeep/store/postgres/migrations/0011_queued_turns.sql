-- Turns that nobody sees to: running ones whose lease has run out, and queued ones that could be started.
CREATE OR REPLACE FUNCTION threadkeep.expired(p_now timestamptz, p_limit integer)
RETURNS TABLE (
    tenant text, user_name text, conversation bytea, number integer, state text, owner text, fence integer,
    taken integer, until timestamptz
) LANGUAGE sql STABLE AS $$
    SELECT t.tenant_name, t.user_name, t.conversation_id, t.number, t.state, t.owner, t.fence, t.taken, t.until
    FROM threadkeep.turn t
    WHERE t.state = 'running' AND t.until < p_now
       OR t.state = 'queued' AND NOT EXISTS (
           SELECT FROM threadkeep.turn o
           WHERE o.tenant = t.tenant AND o.conversation = t.conversation
             AND (o.state <> 'queued' OR o.number < t.number)
       )
    ORDER BY t.until NULLS LAST LIMIT p_limit
$$;
