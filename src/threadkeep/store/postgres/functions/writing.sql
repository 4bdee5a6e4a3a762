-- Writing. What may be written is decided in Python (store/rules.py) from the end of a log as `end_of` tells it; `commit` stores
-- what was decided if that is still the end. It knows no rule: where a primary key is taken, a lease is not the present one or a
-- conversation is gone, it fails as a whole with `unique_violation`, and the caller looks at the end again.

-- The end of a log, and what a decision may ask beyond it: whether `p_parent` is on a branch and what continued it, the entry
-- that tells of the queued turn `p_queued`, and what the key `p_key` made. No row if there is no such conversation.
CREATE FUNCTION threadkeep.end_of(
    p_tenant integer, p_owner integer, p_id bytea, p_parent integer, p_queued integer, p_key bytea
) RETURNS TABLE (
    conversation bigint, version integer, status text, last integer, head integer, newest integer, total bigint, messages integer,
    turns threadkeep.turn[], pieces integer, message bytea, turn integer, characters integer, bytes integer,
    is_on_branch boolean, follower integer, queued jsonb, made_in bigint, digest bytea, first_made integer, last_made integer
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    RETURN QUERY
    SELECT c.key, c.version, c.status, c.last, c.head, c.newest, c.total, c.messages,
           ARRAY(SELECT t FROM threadkeep.turn t WHERE t.tenant = p_tenant AND t.conversation = c.key ORDER BY t.number),
           d.number, d.message, d.turn, d.ends, d.bytes,
           threadkeep.is_on_branch(p_tenant, c.key, p_parent), threadkeep.follower(p_tenant, c.key, p_parent),
           (SELECT e.parts FROM threadkeep.entry e
            WHERE e.tenant = p_tenant AND e.conversation = c.key AND e.seq = p_queued),
           k.conversation, k.digest, k.first, k.last
    FROM threadkeep.conversation_now c
    LEFT JOIN LATERAL (
        SELECT d.* FROM threadkeep.chunk d
        WHERE d.tenant = p_tenant AND d.conversation = c.key ORDER BY d.number DESC LIMIT 1
    ) d ON true
    LEFT JOIN LATERAL threadkeep.made_by(p_tenant, p_key) k ON true
    WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner;
END $$;

-- What an idempotency key made. A key of a deleted conversation is free again.
CREATE FUNCTION threadkeep.made_by(p_tenant integer, p_key bytea)
RETURNS TABLE (conversation bigint, id bytea, digest bytea, first integer, last integer) LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_key IS NOT NULL THEN
        PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
        RETURN QUERY SELECT c.key, c.id, k.digest, k.first, k.last
        FROM threadkeep.key k JOIN threadkeep.conversation c ON c.tenant = k.tenant AND c.key = k.conversation
        WHERE k.tenant = p_tenant AND k.name = p_key AND c.id IS NOT NULL;
    END IF;
END $$;

-- The entry that continued `p_parent` in its own run, or 0.
CREATE FUNCTION threadkeep.follower(p_tenant integer, p_conversation bigint, p_parent integer)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE found_seq integer;
BEGIN
    IF p_parent IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT e.seq INTO found_seq FROM threadkeep.entry e
    WHERE e.tenant = p_tenant AND e.conversation = p_conversation AND e.seq > p_parent AND e.kind <= 8
    ORDER BY e.seq LIMIT 1;
    IF EXISTS (
        SELECT FROM threadkeep.jump j
        WHERE j.tenant = p_tenant AND j.conversation = p_conversation AND j.first = found_seq
    ) THEN
        RETURN 0;
    END IF;
    RETURN coalesce(found_seq, 0);
END $$;

-- The records of many conversations of one tenant in one commit; an argument without rows is null.
-- `p_places` names the conversations that get entries, `p_leases` the turns that must still be held (those of records
-- without an entry, which no primary key protects). `p_ended` are turns that are open no more, `p_drafts` the messages that
-- are finished, with the number of their last piece; `p_uses` are the files that entries use. A turn's `until` is the epoch plus the length of the lease.
CREATE FUNCTION threadkeep.commit(
    p_tenant integer, p_places threadkeep.behind[], p_leases threadkeep.turn[],
    p_entries threadkeep.entry[], p_jumps threadkeep.jump[], p_keys threadkeep.key[], p_changes threadkeep.change[],
    p_turns threadkeep.turn[], p_ended threadkeep.turn[], p_chunks threadkeep.chunk[], p_drafts threadkeep.chunk[],
    p_acts text[], p_uses threadkeep.file_use[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    here text := set_config('threadkeep.tenant', p_tenant::text, true);
    done integer;
    act text[];
BEGIN
    IF p_places IS NOT NULL THEN
        -- Nobody takes these conversations for indexed, or deletes them, while their rows in `behind` are held.
        -- One, which is what a writer alone sends, is looked up without a join.
        IF cardinality(p_places) = 1 THEN
            PERFORM FROM threadkeep.behind b WHERE b.tenant = p_tenant
                AND b.owner = p_places[1].owner AND b.conversation = p_places[1].conversation FOR KEY SHARE;
        ELSE
            PERFORM FROM unnest(p_places) n JOIN threadkeep.behind b
                ON b.tenant = p_tenant AND b.owner = n.owner AND b.conversation = n.conversation FOR KEY SHARE OF b;
        END IF;
        GET DIAGNOSTICS done = ROW_COUNT;
        IF done < cardinality(p_places) THEN
            PERFORM threadkeep.fall_behind(p_tenant, p_places);
        END IF;
        INSERT INTO threadkeep.entry SELECT * FROM unnest(p_entries);
    END IF;
    IF p_leases IS NOT NULL THEN
        PERFORM FROM unnest(p_leases) h JOIN threadkeep.turn t
            ON t.tenant = p_tenant AND t.conversation = h.conversation AND t.number = h.number
        WHERE t.state = 'running' AND t.fence = h.fence AND t.owner = h.owner AND NOT EXISTS (
            SELECT FROM threadkeep.removal r WHERE r.tenant = p_tenant AND r.conversation = t.conversation
        ) FOR SHARE OF t;
        GET DIAGNOSTICS done = ROW_COUNT;
        IF done < cardinality(p_leases) THEN
            RAISE unique_violation USING MESSAGE = 'a lease is not the present one';
        END IF;
    END IF;
    IF p_jumps IS NOT NULL THEN
        INSERT INTO threadkeep.jump SELECT * FROM unnest(p_jumps);
    END IF;
    IF p_keys IS NOT NULL THEN
        PERFORM threadkeep.keep_keys(p_keys);
    END IF;
    IF p_changes IS NOT NULL THEN
        UPDATE threadkeep.conversation c SET
            version = n.version, title = coalesce(n.title, c.title), metadata = coalesce(n.metadata, c.metadata),
            status = coalesce(n.status, c.status), archived = coalesce(n.archived, c.archived),
            model = coalesce(n.model, c.model), assistant = coalesce(n.assistant, c.assistant),
            shares = nullif(coalesce(n.shares, c.shares), '[]')
        FROM unnest(p_changes) n WHERE c.tenant = p_tenant AND c.key = n.conversation;
        IF EXISTS (SELECT FROM unnest(p_changes) n WHERE n.title IS NOT NULL) THEN
            DELETE FROM threadkeep.title_word t USING unnest(p_changes) n
            WHERE t.tenant = p_tenant AND t.conversation = n.conversation AND n.title IS NOT NULL;
            INSERT INTO threadkeep.title_word (conversation, tenant, owner, word)
            SELECT c.key, p_tenant, c.owner, w.word FROM unnest(p_changes) n
            JOIN threadkeep.conversation c ON c.tenant = p_tenant AND c.key = n.conversation,
            LATERAL unnest(n.title_words) w (word);
        END IF;
    END IF;
    IF p_turns IS NOT NULL THEN
        INSERT INTO threadkeep.turn
        SELECT n.conversation, threadkeep.moment() + (n.until - 'epoch'::timestamptz), n.tenant, n.number, n.fence,
               n.state, n.owner, n.tenant_name, n.user_name, n.conversation_id
        FROM unnest(p_turns) n
        ON CONFLICT (tenant, conversation, number) DO UPDATE SET
            until = excluded.until, fence = excluded.fence, state = excluded.state,
            owner = excluded.owner;
    END IF;
    IF p_ended IS NOT NULL THEN
        DELETE FROM threadkeep.turn t USING unnest(p_ended) n
        WHERE t.tenant = p_tenant AND t.conversation = n.conversation AND t.number = n.number;
    END IF;
    IF p_chunks IS NOT NULL THEN
        INSERT INTO threadkeep.chunk SELECT * FROM unnest(p_chunks);
    END IF;
    IF p_drafts IS NOT NULL THEN
        DELETE FROM threadkeep.chunk c USING unnest(p_drafts) n
        WHERE c.tenant = p_tenant AND c.conversation = n.conversation;
        GET DIAGNOSTICS done = ROW_COUNT;
        IF done <> (SELECT sum(n.number) FROM unnest(p_drafts) n) THEN
            RAISE unique_violation USING MESSAGE = 'more was written of a message';
        END IF;
    END IF;
    IF p_uses IS NOT NULL THEN
        INSERT INTO threadkeep.file_use SELECT * FROM unnest(p_uses) ON CONFLICT DO NOTHING;
        -- The last conversation that used one may have been deleted since it was looked up.
        UPDATE threadkeep.file f SET touched_at = threadkeep.moment() FROM unnest(p_uses) n
        WHERE f.tenant = p_tenant AND f.id = n.file AND f.touched_at = 'epoch';
    END IF;
    IF p_acts IS NOT NULL THEN
        FOREACH act SLICE 1 IN ARRAY p_acts LOOP
            PERFORM threadkeep.add_act(p_tenant, act);
        END LOOP;
    END IF;
END $$;

-- Make the rows in `behind` that are missing, and hold all of them.
CREATE FUNCTION threadkeep.fall_behind(p_tenant integer, p_places threadkeep.behind[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE done integer;
BEGIN
    INSERT INTO threadkeep.behind (conversation, tenant, owner)
    SELECT n.conversation, p_tenant, n.owner FROM unnest(p_places) n WHERE EXISTS (
        SELECT FROM threadkeep.conversation c
        WHERE c.tenant = p_tenant AND c.key = n.conversation AND c.id IS NOT NULL FOR KEY SHARE
    ) ON CONFLICT DO NOTHING;
    PERFORM FROM unnest(p_places) n JOIN threadkeep.behind b
        ON b.tenant = p_tenant AND b.owner = n.owner AND b.conversation = n.conversation FOR KEY SHARE OF b;
    GET DIAGNOSTICS done = ROW_COUNT;
    IF done < cardinality(p_places) THEN
        RAISE unique_violation USING MESSAGE = 'a conversation is gone';
    END IF;
END $$;

-- Keep what keys made. One whose conversation was deleted is free; any other that is there was made by somebody who was faster.
CREATE FUNCTION threadkeep.keep_keys(p_keys threadkeep.key[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    made integer;
    freed integer := 0;
BEGIN
    INSERT INTO threadkeep.key SELECT * FROM unnest(p_keys) ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS made = ROW_COUNT;
    IF made < cardinality(p_keys) THEN
        -- In a statement of its own, which sees what was committed while the first one waited.
        UPDATE threadkeep.key k SET conversation = n.conversation, digest = n.digest, first = n.first, last = n.last
        FROM unnest(p_keys) n
        WHERE k.tenant = n.tenant AND k.name = n.name AND k.conversation <> n.conversation AND NOT EXISTS (
            SELECT FROM threadkeep.conversation c
            WHERE c.tenant = k.tenant AND c.key = k.conversation AND c.id IS NOT NULL
        );
        GET DIAGNOSTICS freed = ROW_COUNT;
    END IF;
    IF made + freed < cardinality(p_keys) THEN
        RAISE unique_violation USING MESSAGE = 'a key was used';
    END IF;
END $$;

-- One row if a tenant uses this id.
CREATE FUNCTION threadkeep.is_taken(p_tenant integer, p_id bytea) RETURNS SETOF bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    RETURN QUERY SELECT c.key FROM threadkeep.conversation c WHERE c.tenant = p_tenant AND c.id = p_id;
END $$;

-- Create a conversation. Its id, or its key, may be taken. Nobody forgets the user's name meanwhile.
CREATE FUNCTION threadkeep.create_conversation(
    p_tenant integer, p_owner integer, p_user text, p_id bytea, p_now timestamptz, p_key bytea, p_digest bytea,
    p_assistant text, p_title text, p_title_words text[], p_model text, p_metadata jsonb, p_system text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE made bigint;
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    PERFORM FROM threadkeep.person p WHERE p.tenant = p_tenant AND p.name = p_user FOR KEY SHARE;
    IF NOT FOUND THEN
        PERFORM threadkeep.enter_person(p_tenant, p_user);
    END IF;
    INSERT INTO threadkeep.conversation AS c (
        tenant, owner, id, created_at, updated_at, assistant, title, model, metadata, system
    ) VALUES (
        p_tenant, p_owner, p_id, p_now, p_now, p_assistant, p_title, p_model, p_metadata, p_system
    ) RETURNING c.key INTO made;
    INSERT INTO threadkeep.title_word (conversation, tenant, owner, word)
    SELECT made, p_tenant, p_owner, w.word FROM unnest(p_title_words) w (word);
    IF p_key IS NOT NULL THEN
        PERFORM threadkeep.keep_keys(ARRAY[ROW(made, p_tenant, 0, 0, p_key, p_digest)::threadkeep.key]);
    END IF;
END $$;
