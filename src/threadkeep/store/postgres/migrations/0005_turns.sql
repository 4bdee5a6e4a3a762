-- Turns: beginning, queueing, taking up, extending, and the text being written.

-- Begin a turn with `p_bodies`, or queue it with `p_queued` if another is open; without `p_queued` it is refused then.
CREATE FUNCTION threadkeep.begin(
    p_tenant integer, p_owner integer, p_id bytea, p_lock bigint, p_now timestamptz,
    p_bodies threadkeep.body[], p_queued threadkeep.body,
    p_parent bigint, p_head bigint, p_key bytea, p_digest bytea,
    p_tenant_name text, p_user_name text, p_holder text, p_until timestamptz,
    OUT refused text, OUT number bigint, OUT conversation bigint, OUT first integer, OUT parent integer, OUT is_running boolean
) LANGUAGE plpgsql AS $$
DECLARE
    here threadkeep.place := threadkeep.hold(p_tenant, p_owner, p_id, p_lock);
    earlier record;
BEGIN
    conversation := here.conversation;
    IF conversation IS NULL THEN
        refused := 'conversation_not_found';
        RETURN;
    END IF;
    IF p_key IS NOT NULL THEN
        SELECT * INTO earlier FROM threadkeep.replay(p_tenant, p_key, p_digest);
        IF earlier.refused IS NOT NULL THEN
            refused := earlier.refused;
            conversation := earlier.conversation;
            first := earlier.first;
            number := earlier.last;
            RETURN;
        END IF;
    END IF;
    IF p_head <> here.head THEN
        refused := 'stale_head';
        number := here.head;
        RETURN;
    END IF;
    IF p_parent <> 0 AND p_parent <> here.head AND NOT threadkeep.is_on_branch(p_tenant, conversation, p_parent) THEN
        refused := 'invalid_parent';
        RETURN;
    END IF;
    is_running := NOT EXISTS (
        SELECT FROM threadkeep.turn t WHERE t.tenant = p_tenant AND t.conversation = here.conversation
    );
    IF NOT is_running AND p_queued IS NULL THEN
        refused := 'conversation_busy';
        RETURN;
    END IF;

    first := here.last + 1;
    parent := coalesce(p_parent, here.head);
    IF NOT is_running THEN
        here := threadkeep.put(here, ARRAY[p_queued], parent, first, p_now);
    ELSE
        IF p_bodies[1].kind > 8 THEN
            here.head := parent;
        END IF;
        here := threadkeep.put(here, p_bodies, parent, first, p_now);
    END IF;
    INSERT INTO threadkeep.turn (
        tenant, conversation, number, state, owner, until, fence, taken, tenant_name, user_name, conversation_id
    ) VALUES (
        p_tenant, here.conversation, first, CASE WHEN is_running THEN 'running' ELSE 'queued' END,
        CASE WHEN is_running THEN p_holder END, CASE WHEN is_running THEN p_until END,
        is_running::integer, 0, p_tenant_name, p_user_name, p_id
    );
    IF p_key IS NOT NULL THEN
        PERFORM threadkeep.remember(p_tenant, conversation, p_key, p_digest, first, here.last);
    END IF;
END $$;

-- The number of the turn that is to start next: the oldest queued one if no turn is running or waiting.
CREATE FUNCTION threadkeep.next_turn(p_tenant integer, p_conversation bigint) RETURNS integer LANGUAGE sql AS $$
    SELECT CASE WHEN bool_and(t.state = 'queued') THEN min(t.number) END FROM threadkeep.turn t
    WHERE t.tenant = p_tenant AND t.conversation = p_conversation
$$;

-- The entry that tells of the turn that is to start next, if there is one.
CREATE FUNCTION threadkeep.queued(
    p_tenant integer, p_owner integer, p_id bytea, OUT refused text, OUT number integer, OUT parts jsonb
) LANGUAGE plpgsql STABLE AS $$
DECLARE found_key bigint;
BEGIN
    PERFORM threadkeep.work_for(p_tenant);
    SELECT c.key INTO found_key FROM threadkeep.conversation c
    WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner;
    IF NOT FOUND THEN
        refused := 'conversation_not_found';
        RETURN;
    END IF;
    number := threadkeep.next_turn(p_tenant, found_key);
    SELECT e.parts INTO parts FROM threadkeep.entry e
    WHERE e.tenant = p_tenant AND e.conversation = found_key AND e.seq = queued.number;
END $$;

-- Start the queued turn of this number; refused as `moved_on` if it is no longer the one to start.
CREATE FUNCTION threadkeep.start(
    p_tenant integer, p_owner integer, p_id bytea, p_lock bigint, p_now timestamptz,
    p_turn integer, p_bodies threadkeep.body[], p_parent integer, p_holder text, p_until timestamptz,
    OUT refused text, OUT first integer, OUT parent integer
) LANGUAGE plpgsql AS $$
DECLARE here threadkeep.place := threadkeep.hold(p_tenant, p_owner, p_id, p_lock);
BEGIN
    IF here.conversation IS NULL THEN
        refused := 'conversation_not_found';
        RETURN;
    ELSIF threadkeep.next_turn(p_tenant, here.conversation) IS DISTINCT FROM p_turn THEN
        refused := 'moved_on';
        RETURN;
    END IF;
    first := here.last + 1;
    parent := coalesce(p_parent, here.head);
    IF p_bodies[1].kind > 8 THEN
        here.head := parent;
    END IF;
    PERFORM threadkeep.put(here, p_bodies, parent, p_turn, p_now);
    UPDATE threadkeep.turn t SET state = 'running', owner = p_holder, until = p_until, fence = 1
    WHERE t.tenant = p_tenant AND t.conversation = here.conversation AND t.number = p_turn;
END $$;

-- Take up a turn as it was seen.
CREATE FUNCTION threadkeep.take(
    p_tenant integer, p_owner integer, p_id bytea, p_lock bigint, p_now timestamptz,
    p_turn bigint, p_fence bigint, p_state text, p_body threadkeep.body, p_holder text, p_until timestamptz,
    OUT refused text
) LANGUAGE plpgsql AS $$
DECLARE here threadkeep.place := threadkeep.hold(p_tenant, p_owner, p_id, p_lock);
BEGIN
    UPDATE threadkeep.turn t
    SET state = 'running', owner = p_holder, until = p_until, fence = t.fence + 1, taken = t.taken + 1
    WHERE t.tenant = here.tenant AND t.conversation = here.conversation AND t.number = p_turn
      AND t.fence = p_fence AND t.state = p_state AND t.state <> 'queued';
    IF NOT FOUND THEN
        refused := 'lease_lost';
        RETURN;
    END IF;
    PERFORM threadkeep.put(here, ARRAY[p_body], here.head, p_turn::integer, p_now);
END $$;

-- Keep a lease until later.
CREATE FUNCTION threadkeep.extend(
    p_tenant integer, p_owner integer, p_id bytea, p_turn bigint, p_fence bigint, p_holder text, p_until timestamptz,
    OUT refused text
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM threadkeep.work_for(p_tenant);
    UPDATE threadkeep.turn t SET until = p_until FROM threadkeep.conversation c
    WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner
      AND t.tenant = c.tenant AND t.conversation = c.key AND t.number = p_turn
      AND t.state = 'running' AND t.fence = p_fence AND t.owner = p_holder;
    IF NOT FOUND THEN
        refused := 'lease_lost';
    END IF;
END $$;

-- Add one piece of text to the message that a turn is writing; return why not, or null.
CREATE FUNCTION threadkeep.write_chunk(
    p_tenant integer, p_owner integer, p_id bytea, p_turn bigint, p_fence bigint, p_holder text,
    p_message bytea, p_offset bigint, p_characters integer, p_text bytea, p_now timestamptz, p_max_bytes bigint
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE here record;
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    SELECT t.conversation, d.number, d.message, d.started_at,
           coalesce(d.ends, 0) AS ends, coalesce(d.bytes, 0) AS bytes
    INTO here FROM threadkeep.conversation c
    JOIN threadkeep.turn t ON t.tenant = c.tenant AND t.conversation = c.key
    LEFT JOIN LATERAL (
        SELECT * FROM threadkeep.chunk d
        WHERE d.tenant = c.tenant AND d.conversation = c.key ORDER BY d.number DESC LIMIT 1
    ) d ON true
    WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner
      AND t.number = p_turn AND t.state = 'running' AND t.fence = p_fence AND t.owner = p_holder;
    IF NOT FOUND THEN
        RETURN 'lease_lost';
    ELSIF p_offset <> here.ends OR p_message <> here.message THEN
        RETURN 'draft_mismatch';
    ELSIF here.bytes + length(p_text) > p_max_bytes THEN
        RETURN 'content_too_large';
    END IF;
    INSERT INTO threadkeep.chunk (
        tenant, conversation, number, turn, message, started_at, begins, ends, bytes, text
    ) VALUES (
        p_tenant, here.conversation, coalesce(here.number, 0) + 1, p_turn, p_message, coalesce(here.started_at, p_now),
        here.ends, here.ends + p_characters, here.bytes + length(p_text), p_text
    );
    RETURN NULL;
END $$;

-- Add pieces of text of many turns in one commit; return for each why not, or null.
CREATE FUNCTION threadkeep.write_chunks(
    p_tenants integer[], p_owners integer[], p_ids bytea[], p_locks bigint[],
    p_turns bigint[], p_fences bigint[], p_holders text[],
    p_messages bytea[], p_offsets bigint[], p_characters integer[], p_texts bytea[],
    p_now timestamptz, p_max_bytes bigint
) RETURNS TABLE (refused text) LANGUAGE plpgsql AS $$
DECLARE held bigint;
BEGIN
    -- In one order for everybody, so that two groups never wait for each other.
    FOR held IN SELECT DISTINCT l FROM unnest(p_locks) l ORDER BY l LOOP
        PERFORM pg_advisory_xact_lock(held);
    END LOOP;
    FOR i IN 1 .. cardinality(p_ids) LOOP
        refused := threadkeep.write_chunk(
            p_tenants[i], p_owners[i], p_ids[i], p_turns[i], p_fences[i], p_holders[i],
            p_messages[i], p_offsets[i], p_characters[i], p_texts[i], p_now, p_max_bytes
        );
        RETURN NEXT;
    END LOOP;
END $$;

CREATE FUNCTION threadkeep.turns(p_tenant integer, p_owner integer, p_id bytea)
RETURNS TABLE (refused text, number integer, state text, owner text, fence integer, taken integer, until timestamptz)
LANGUAGE plpgsql STABLE AS $$
DECLARE found_key bigint;
BEGIN
    PERFORM threadkeep.work_for(p_tenant);
    SELECT c.key INTO found_key FROM threadkeep.conversation c
    WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner;
    IF NOT FOUND THEN
        refused := 'conversation_not_found';
        RETURN NEXT;
        RETURN;
    END IF;
    RETURN QUERY SELECT NULL, t.number, t.state, t.owner, t.fence, t.taken, t.until FROM threadkeep.turn t
    WHERE t.tenant = p_tenant AND t.conversation = found_key ORDER BY t.number;
END $$;

CREATE FUNCTION threadkeep.expired(p_now timestamptz, p_limit integer)
RETURNS TABLE (
    tenant text, user_name text, conversation bytea, number integer, state text, owner text, fence integer,
    taken integer, until timestamptz
) LANGUAGE sql STABLE AS $$
    SELECT t.tenant_name, t.user_name, t.conversation_id, t.number, t.state, t.owner, t.fence, t.taken, t.until
    FROM threadkeep.turn t WHERE t.state = 'running' AND t.until < p_now ORDER BY t.until LIMIT p_limit
$$;
