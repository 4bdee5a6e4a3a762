-- Deleting: a hidden conversation has no `id` and keeps everything, its turns too. It had `deleted_id` and can be restored
-- until a purge begins, which takes that away. `removal` says when it was deleted.

-- Make a conversation unreachable at once, if `p_last` (null: any) is its last entry.
CREATE FUNCTION threadkeep.hide(
    p_tenant integer, p_owner integer, p_id bytea, p_last integer, p_act text[], OUT refused text
) LANGUAGE plpgsql AS $$
DECLARE hidden bigint; files text[]; now timestamptz := threadkeep.moment();
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    IF p_last IS NOT NULL THEN
        -- Who appends holds a row of `behind`, and needs the conversation's to make one.
        SELECT c.key INTO hidden FROM threadkeep.conversation c
        WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner FOR UPDATE;
        PERFORM FROM threadkeep.behind b
        WHERE b.tenant = p_tenant AND b.owner = p_owner AND b.conversation = hidden FOR UPDATE;
        IF EXISTS (
            SELECT FROM threadkeep.conversation c WHERE c.tenant = p_tenant AND c.key = hidden AND c.id IS NOT NULL
        ) AND coalesce((
            SELECT max(e.seq) FROM threadkeep.entry e WHERE e.tenant = p_tenant AND e.conversation = hidden
        ), 0) <> p_last THEN
            refused := 'conversation_busy';
            RETURN;
        END IF;
    END IF;
    UPDATE threadkeep.conversation c SET id = NULL, deleted_id = p_id
    WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner RETURNING c.key INTO hidden;
    IF NOT FOUND THEN
        refused := 'conversation_not_found';
        RETURN;
    END IF;
    -- Without this row nothing is appended or indexed.
    DELETE FROM threadkeep.behind b WHERE b.tenant = p_tenant AND b.owner = p_owner AND b.conversation = hidden;
    INSERT INTO threadkeep.removal (tenant, conversation, deleted_at) VALUES (p_tenant, hidden, now);
    -- Files that no other conversation uses are missing from now on.
    SELECT array_agg(h.file) INTO files FROM threadkeep.file_use h
    WHERE h.tenant = p_tenant AND h.conversation = hidden AND NOT EXISTS (
        SELECT FROM threadkeep.file_use u JOIN threadkeep.conversation c ON c.tenant = u.tenant AND c.key = u.conversation
        WHERE u.tenant = p_tenant AND u.file = h.file AND c.tenant = p_tenant AND c.id IS NOT NULL
    );
    UPDATE threadkeep.file f SET touched_at = 'epoch' WHERE f.tenant = p_tenant AND f.id = ANY(files);
    PERFORM threadkeep.add_act(p_tenant, p_act);
END $$;

-- Bring back the conversation that was hidden last under this id; `p_rooms` is as `check_rooms` wants it.
CREATE FUNCTION threadkeep.restore(
    p_tenant integer, p_owner integer, p_id bytea, p_act text[], p_rooms bigint[], OUT refused text,
    OUT id bytea, OUT version integer, OUT created_at timestamptz, OUT updated_at timestamptz, OUT facts jsonb, OUT large jsonb,
    OUT last integer, OUT head integer
) LANGUAGE plpgsql AS $$
DECLARE restored bigint; files text[]; moment timestamptz := threadkeep.moment();
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    SELECT c.key INTO restored FROM threadkeep.conversation c
    JOIN threadkeep.removal r ON r.tenant = p_tenant AND r.conversation = c.key
    WHERE c.tenant = p_tenant AND c.deleted_id = p_id AND c.owner = p_owner ORDER BY r.deleted_at DESC, c.key DESC LIMIT 1;
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
    SELECT array_agg(u.file) INTO files FROM threadkeep.file_use u
    WHERE u.tenant = p_tenant AND u.conversation = restored;
    UPDATE threadkeep.file f SET touched_at = moment
    WHERE f.tenant = p_tenant AND f.id = ANY(files) AND f.touched_at = 'epoch';
    SELECT n.id, n.version, n.created_at, n.updated_at, n.facts, n.large, n.last, n.head
    INTO id, version, created_at, updated_at, facts, large, last, head FROM threadkeep.now(p_tenant, ARRAY[restored]) n;
    IF EXISTS (
        SELECT FROM threadkeep.conversation c
        WHERE c.tenant = p_tenant AND c.key = restored AND c.indexed < restore.last
    ) THEN
        INSERT INTO threadkeep.behind (tenant, owner, conversation) VALUES (p_tenant, p_owner, restored);
    END IF;
    PERFORM threadkeep.add_act(p_tenant, p_act);
    PERFORM threadkeep.check_rooms(p_tenant, p_rooms);
EXCEPTION WHEN SQLSTATE 'TK001' THEN
    refused := 'storage_full';
END $$;

-- Return what of a tenant, or (unless null) of one user, is to be purged next: what was deleted so long ago. Nobody can restore it
-- any more. Null if there is nothing.
CREATE FUNCTION threadkeep.next_removal(p_tenant integer, p_kept interval, p_owner integer, OUT conversation bigint)
LANGUAGE plpgsql AS $$
DECLARE before timestamptz := threadkeep.moment() - p_kept;
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    LOOP
        SELECT r.conversation INTO conversation FROM threadkeep.removal r
        WHERE r.tenant = p_tenant AND r.deleted_at <= before AND r.deleted_at > '-infinity' AND (p_owner IS NULL OR EXISTS (
            SELECT FROM threadkeep.conversation c
            WHERE c.tenant = p_tenant AND c.owner = p_owner AND c.key = r.conversation
        )) ORDER BY r.deleted_at LIMIT 1;
        EXIT WHEN NOT FOUND;
        UPDATE threadkeep.conversation c SET deleted_id = NULL
        WHERE c.tenant = p_tenant AND c.key = next_removal.conversation AND c.id IS NULL;
        -- Otherwise it was restored or purged since we looked.
        EXIT WHEN FOUND;
    END LOOP;
END $$;

-- Remove what belongs to the entries from number `p_first` up to before `p_next` of a conversation that `next_removal` named,
-- and at last all the rest. Returns whether more is left. That it is removed is noted until the tables are rewritten: so
-- nobody forgets to do that.
CREATE FUNCTION threadkeep.purge(
    p_tenant integer, p_conversation bigint, p_first integer, p_next integer, OUT is_left boolean
) LANGUAGE plpgsql AS $$
DECLARE
    last integer;
    gone integer;
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    SELECT e.seq INTO last FROM threadkeep.entry e
    WHERE e.tenant = p_tenant AND e.conversation = p_conversation ORDER BY e.seq DESC LIMIT 1;
    DELETE FROM threadkeep.key k
    WHERE k.tenant = p_tenant AND k.conversation = p_conversation AND k.first >= p_first AND k.first < p_next;
    DELETE FROM threadkeep.jump j
    WHERE j.tenant = p_tenant AND j.conversation = p_conversation AND j.first >= p_first AND j.first < p_next;
    DELETE FROM threadkeep.entry e
    WHERE e.tenant = p_tenant AND e.conversation = p_conversation AND e.seq >= p_first AND e.seq < p_next;
    is_left := threadkeep.forget_words(p_tenant, p_conversation, p_next - p_first) OR coalesce(last >= p_next, false);
    IF NOT is_left THEN
        DELETE FROM threadkeep.turn t WHERE t.tenant = p_tenant AND t.conversation = p_conversation;
        DELETE FROM threadkeep.chunk c WHERE c.tenant = p_tenant AND c.conversation = p_conversation;
        DELETE FROM threadkeep.title_word t WHERE t.tenant = p_tenant AND t.conversation = p_conversation;
        DELETE FROM threadkeep.file_use u WHERE u.tenant = p_tenant AND u.conversation = p_conversation;
        DELETE FROM threadkeep.conversation c WHERE c.tenant = p_tenant AND c.key = p_conversation
        RETURNING c.owner INTO gone;
        UPDATE threadkeep.removal r SET deleted_at = '-infinity'
        WHERE r.tenant = p_tenant AND r.conversation = p_conversation;
        PERFORM threadkeep.forget_person(p_tenant, gone);
    END IF;
END $$;

-- Write a table with content anew, and its indexes, unless it is larger than `p_most` bytes: PostgreSQL overwrites no row
-- that was removed, and the index of words keeps every word for ever. Others wait meanwhile, but nobody for one who waits.
-- Not one that Citus distributes, of which only the empty shell would be written anew, nor where an engine knows no CLUSTER.
CREATE FUNCTION threadkeep.rewrite(p_table text, p_most bigint, OUT is_rewritten boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' AS $$
DECLARE
    written regclass := format('threadkeep.%I', p_table);
    is_shell boolean := false;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition d WHERE d.logicalrelid = $1)'
        INTO is_shell USING written;
    END IF;
    is_rewritten := NOT is_shell AND pg_total_relation_size(written) <= p_most;
    IF NOT is_rewritten THEN
        RETURN;
    ELSIF p_table = 'word' THEN
        CREATE INDEX word_in_order ON threadkeep.word (position);
        CLUSTER threadkeep.word USING word_in_order;
        DROP INDEX threadkeep.word_in_order;
    ELSE
        EXECUTE format('CLUSTER threadkeep.%I USING %I', p_table, p_table || '_pkey');
    END IF;
EXCEPTION
    WHEN feature_not_supported THEN
        is_rewritten := false;
END $$;
