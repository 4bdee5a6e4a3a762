-- Deleting: a hidden conversation has no `id` and keeps everything, its turns too. It had `deleted_id` and can be restored
-- until a purge begins, which takes that away. `removal` says when it was deleted; nothing there is content, so that a
-- purge sees what was deleted in all tenants.
ALTER TABLE threadkeep.conversation ADD COLUMN deleted_id bytea;
CREATE INDEX conversation_by_deleted_id ON threadkeep.conversation (tenant, deleted_id) WHERE deleted_id IS NOT NULL;
ALTER TABLE threadkeep.removal ADD COLUMN deleted_at timestamptz NOT NULL DEFAULT '-infinity';
ALTER TABLE threadkeep.removal ALTER COLUMN deleted_at DROP DEFAULT;
CREATE INDEX removal_by_time ON threadkeep.removal (deleted_at);

DROP FUNCTION threadkeep.hide, threadkeep.purge, threadkeep.removals;

-- Make a conversation unreachable at once.
CREATE FUNCTION threadkeep.hide(
    p_tenant integer, p_owner integer, p_id bytea, p_lock bigint, p_now timestamptz, OUT refused text
) LANGUAGE plpgsql AS $$
DECLARE here threadkeep.place := threadkeep.hold(p_tenant, p_owner, p_id, p_lock);
BEGIN
    IF here.conversation IS NULL THEN
        refused := 'conversation_not_found';
        RETURN;
    END IF;
    UPDATE threadkeep.conversation c SET id = NULL, deleted_id = p_id
    WHERE c.tenant = here.tenant AND c.key = here.conversation;
    -- Without this row nothing is appended or indexed.
    DELETE FROM threadkeep.behind b
    WHERE b.tenant = here.tenant AND b.owner = here.owner AND b.conversation = here.conversation;
    INSERT INTO threadkeep.removal (tenant, conversation, deleted_at)
    VALUES (here.tenant, here.conversation, p_now);
END $$;

-- Bring back the conversation that was hidden last under this id.
CREATE FUNCTION threadkeep.restore(
    p_tenant integer, p_owner integer, p_id bytea, p_lock bigint,
    OUT refused text, OUT now threadkeep.conversation_now
) LANGUAGE plpgsql AS $$
DECLARE restored bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(p_lock), set_config('threadkeep.tenant', p_tenant::text, true);
    SELECT c.key INTO restored FROM threadkeep.conversation c
    WHERE c.tenant = p_tenant AND c.deleted_id = p_id AND c.owner = p_owner ORDER BY c.key DESC LIMIT 1;
    IF NOT FOUND THEN
        refused := 'conversation_not_found';
        RETURN;
    ELSIF EXISTS (SELECT FROM threadkeep.conversation c WHERE c.tenant = p_tenant AND c.id = p_id) THEN
        refused := 'already_exists';
        RETURN;
    END IF;
    UPDATE threadkeep.conversation c SET id = p_id, deleted_id = NULL
    WHERE c.tenant = p_tenant AND c.key = restored AND c.deleted_id = p_id;
    IF NOT FOUND THEN
        -- A purge was faster; an older one may be left.
        RAISE serialization_failure;
    END IF;
    DELETE FROM threadkeep.removal r WHERE r.tenant = p_tenant AND r.conversation = restored;
    SELECT * INTO now FROM threadkeep.conversation_now c WHERE c.tenant = p_tenant AND c.key = restored;
    INSERT INTO threadkeep.behind (tenant, owner, conversation)
    SELECT c.tenant, c.owner, c.key FROM threadkeep.conversation c
    WHERE c.tenant = p_tenant AND c.key = restored AND c.indexed < now.last;
END $$;

-- Return what is to be purged next, after making sure that nobody can restore it; nulls if there is nothing.
CREATE FUNCTION threadkeep.next_removal(p_before timestamptz, OUT tenant integer, OUT conversation bigint)
LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        SELECT r.tenant, r.conversation INTO tenant, conversation FROM threadkeep.removal r
        WHERE r.deleted_at < p_before ORDER BY r.deleted_at LIMIT 1;
        EXIT WHEN NOT FOUND;
        PERFORM threadkeep.work_for(tenant);
        UPDATE threadkeep.conversation c SET deleted_id = NULL
        WHERE c.tenant = next_removal.tenant AND c.key = next_removal.conversation AND c.id IS NULL;
        -- Otherwise it was restored or purged since we looked.
        EXIT WHEN FOUND;
    END LOOP;
END $$;

-- Remove what belongs to the entries from number `p_first` up to before `p_next` of a conversation that `next_removal` named,
-- and at last all the rest. Returns whether more is left, and whether it was this call that removed the rest.
CREATE FUNCTION threadkeep.purge(
    p_tenant integer, p_conversation bigint, p_first integer, p_next integer, OUT is_left boolean, OUT is_removed boolean
) LANGUAGE plpgsql AS $$
DECLARE last integer;
BEGIN
    PERFORM threadkeep.work_for(p_tenant);
    SELECT e.seq INTO last FROM threadkeep.entry e
    WHERE e.tenant = p_tenant AND e.conversation = p_conversation ORDER BY e.seq DESC LIMIT 1;
    DELETE FROM threadkeep.key k
    WHERE k.tenant = p_tenant AND k.conversation = p_conversation AND k.first >= p_first AND k.first < p_next;
    DELETE FROM threadkeep.jump j
    WHERE j.tenant = p_tenant AND j.conversation = p_conversation AND j.first >= p_first AND j.first < p_next;
    DELETE FROM threadkeep.entry e
    WHERE e.tenant = p_tenant AND e.conversation = p_conversation AND e.seq >= p_first AND e.seq < p_next;
    is_left := threadkeep.forget_words(p_tenant, p_conversation, p_next - p_first) OR coalesce(last >= p_next, false);
    is_removed := false;
    IF NOT is_left THEN
        DELETE FROM threadkeep.turn t WHERE t.tenant = p_tenant AND t.conversation = p_conversation;
        DELETE FROM threadkeep.chunk c WHERE c.tenant = p_tenant AND c.conversation = p_conversation;
        DELETE FROM threadkeep.conversation c WHERE c.tenant = p_tenant AND c.key = p_conversation;
        DELETE FROM threadkeep.removal r WHERE r.tenant = p_tenant AND r.conversation = p_conversation;
        is_removed := FOUND;
    END IF;
END $$;

-- As in 0011, without the turns of hidden conversations.
CREATE OR REPLACE FUNCTION threadkeep.expired(p_now timestamptz, p_limit integer)
RETURNS TABLE (
    tenant text, user_name text, conversation bytea, number integer, state text, owner text, fence integer,
    taken integer, until timestamptz
) LANGUAGE sql STABLE AS $$
    SELECT t.tenant_name, t.user_name, t.conversation_id, t.number, t.state, t.owner, t.fence, t.taken, t.until
    FROM threadkeep.turn t
    WHERE (t.state = 'running' AND t.until < p_now
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

REVOKE ALL ON FUNCTION threadkeep.hide, threadkeep.restore, threadkeep.next_removal, threadkeep.purge FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    threadkeep.hide, threadkeep.restore, threadkeep.next_removal, threadkeep.purge
TO threadkeep_server;
