-- Appending, with all that can be asked of it. The plain case is in append_one.sql and append_two.sql.

-- Whether a lease is the present one of its turn.
CREATE FUNCTION threadkeep.is_held(p_tenant integer, p_conversation bigint, p_turn bigint, p_fence bigint, p_holder text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM threadkeep.turn t
        WHERE t.tenant = p_tenant AND t.conversation = p_conversation AND t.number = p_turn
          AND t.state = 'running' AND t.fence = p_fence AND t.owner = p_holder
    );
END $$;

-- Whether bodies may be stored while a message is being written; if one of them finishes it, remove its text.
CREATE FUNCTION threadkeep.finish_draft(p_tenant integer, p_conversation bigint, p_bodies threadkeep.body[], p_settling boolean)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    draft record;
    length integer;
BEGIN
    SELECT c.message, c.ends INTO draft FROM threadkeep.chunk c
    WHERE c.tenant = p_tenant AND c.conversation = p_conversation ORDER BY c.number DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN true;
    END IF;
    SELECT b.characters INTO length FROM unnest(p_bodies) b WHERE b.id = draft.message AND b.kind < 8 LIMIT 1;
    IF length IS NULL THEN
        RETURN NOT p_settling;
    ELSIF length < draft.ends THEN
        RETURN false;
    END IF;
    DELETE FROM threadkeep.chunk c WHERE c.tenant = p_tenant AND c.conversation = p_conversation;
    RETURN true;
END $$;

-- End or pause a turn.
CREATE FUNCTION threadkeep.settle(p_tenant integer, p_conversation bigint, p_turn bigint, p_state text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_state = 'waiting' THEN
        UPDATE threadkeep.turn t SET state = p_state, owner = NULL, until = NULL
        WHERE t.tenant = p_tenant AND t.conversation = p_conversation AND t.number = p_turn;
    ELSE
        DELETE FROM threadkeep.turn t
        WHERE t.tenant = p_tenant AND t.conversation = p_conversation AND t.number = p_turn;
    END IF;
END $$;

-- Returns where the first body was put, what it continues, and the end of the log.
CREATE FUNCTION threadkeep.append(
    p_tenant integer, p_owner integer, p_id bytea, p_lock bigint, p_now timestamptz, p_bodies threadkeep.body[],
    p_parent bigint, p_head bigint, p_version bigint, p_key bytea, p_digest bytea,
    p_turn bigint, p_fence bigint, p_holder text, p_settle text,
    OUT refused text, OUT number bigint, OUT conversation bigint, OUT first integer, OUT parent integer,
    OUT last integer, OUT head integer, OUT newest integer, OUT total bigint
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
    IF p_version <> here.version THEN
        refused := 'stale_version';
        number := here.version;
        RETURN;
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
    IF p_turn IS NOT NULL THEN
        IF NOT threadkeep.is_held(p_tenant, conversation, p_turn, p_fence, p_holder) THEN
            refused := 'lease_lost';
            RETURN;
        ELSIF NOT threadkeep.finish_draft(p_tenant, conversation, p_bodies, p_settle IS NOT NULL) THEN
            refused := 'draft_mismatch';
            RETURN;
        END IF;
    END IF;

    first := here.last + 1;
    parent := coalesce(p_parent, here.head);
    here := threadkeep.put(here, p_bodies, parent, p_turn::integer, p_now);
    IF 8 = ANY (SELECT b.kind FROM unnest(p_bodies) b) THEN
        UPDATE threadkeep.conversation c SET version = c.version + 1
        WHERE c.tenant = p_tenant AND c.key = here.conversation;
    END IF;
    IF p_settle IS NOT NULL THEN
        PERFORM threadkeep.settle(p_tenant, conversation, p_turn, p_settle);
    END IF;
    IF p_key IS NOT NULL THEN
        PERFORM threadkeep.remember(p_tenant, conversation, p_key, p_digest, first, here.last);
    END IF;
    last := here.last;
    head := here.head;
    newest := here.newest;
    total := here.total;
END $$;
