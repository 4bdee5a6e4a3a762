-- Writing. What may be written is decided in Python (store/rules.py) from the end of a log as `end_of` tells it; `commit` stores
-- what was decided if that is still the end. It knows no rule: where a primary key is taken, a lease is not the present one or a
-- conversation is gone, it fails as a whole with `unique_violation`, and the caller looks at the end again.

-- The records of many conversations of one tenant in one commit; an argument without rows is null. Row by row: an engine that
-- distributes tables refuses INSERT … SELECT under row-level security, and a few rows take no longer this way.
-- `p_places` names the conversations that get entries, `p_leases` the turns that must still be held (those of records
-- without an entry, which no primary key protects). `p_ended` are turns that are open no more, `p_drafts` the messages that
-- are finished, with the number of their last piece; `p_uses` are the files that entries use; `p_rooms` is as `check_rooms` wants
-- it. A turn's `until` is the epoch plus the length of the lease.
CREATE FUNCTION threadkeep.commit(
    p_tenant integer, p_places threadkeep.behind[], p_leases threadkeep.turn[],
    p_entries threadkeep.entry[], p_jumps threadkeep.jump[], p_keys threadkeep.key[], p_changes threadkeep.change[],
    p_turns threadkeep.turn[], p_ended threadkeep.turn[], p_chunks threadkeep.chunk[], p_drafts threadkeep.chunk[],
    p_acts text[], p_uses threadkeep.file_use[], p_rooms bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    here text := set_config('threadkeep.tenant', p_tenant::text, true);
    epoch timestamptz := 'epoch';
    now timestamptz;
    place threadkeep.behind;
    entry threadkeep.entry;
    jump threadkeep.jump;
    used threadkeep.key;
    change threadkeep.change;
    turn threadkeep.turn;
    chunk threadkeep.chunk;
    file threadkeep.file_use;
    done integer;
    act text[];
BEGIN
    IF p_places IS NOT NULL THEN
        FOREACH place IN ARRAY p_places LOOP
            -- Nobody takes this conversation for indexed, or deletes it, while its row in `behind` is held.
            PERFORM FROM threadkeep.behind b
            WHERE b.tenant = p_tenant AND b.owner = place.owner AND b.conversation = place.conversation FOR KEY SHARE;
            CONTINUE WHEN FOUND;
            PERFORM FROM threadkeep.conversation c
            WHERE c.tenant = p_tenant AND c.key = place.conversation AND c.id IS NOT NULL FOR KEY SHARE;
            IF FOUND THEN
                INSERT INTO threadkeep.behind (conversation, tenant, owner)
                VALUES (place.conversation, p_tenant, place.owner) ON CONFLICT DO NOTHING;
                PERFORM FROM threadkeep.behind b
                WHERE b.tenant = p_tenant AND b.owner = place.owner AND b.conversation = place.conversation FOR KEY SHARE;
            END IF;
            IF NOT FOUND THEN
                RAISE unique_violation USING MESSAGE = 'a conversation is gone';
            END IF;
        END LOOP;
        FOREACH entry IN ARRAY p_entries LOOP
            INSERT INTO threadkeep.entry (
                created_at, total, conversation, tenant, seq, parent, kind, turn, head, newest, tokens, id, content, parts, messages
            ) VALUES (
                entry.created_at, entry.total, entry.conversation, p_tenant, entry.seq, entry.parent, entry.kind, entry.turn,
                entry.head, entry.newest, entry.tokens, entry.id, entry.content, entry.parts, entry.messages
            );
        END LOOP;
    END IF;
    IF p_leases IS NOT NULL THEN
        FOREACH turn IN ARRAY p_leases LOOP
            PERFORM FROM threadkeep.turn t
            WHERE t.tenant = p_tenant AND t.conversation = turn.conversation AND t.number = turn.number
              AND t.state = 'running' AND t.fence = turn.fence AND t.owner = turn.owner AND NOT EXISTS (
                SELECT FROM threadkeep.removal r WHERE r.tenant = p_tenant AND r.conversation = turn.conversation
            ) FOR SHARE;
            IF NOT FOUND THEN
                RAISE unique_violation USING MESSAGE = 'a lease is not the present one';
            END IF;
        END LOOP;
    END IF;
    IF p_jumps IS NOT NULL THEN
        FOREACH jump IN ARRAY p_jumps LOOP
            INSERT INTO threadkeep.jump (conversation, tenant, first, parent, "left", beside)
            VALUES (jump.conversation, p_tenant, jump.first, jump.parent, jump."left", jump.beside);
        END LOOP;
    END IF;
    IF p_keys IS NOT NULL THEN
        FOREACH used IN ARRAY p_keys LOOP
            PERFORM threadkeep.keep_key(p_tenant, used);
        END LOOP;
    END IF;
    IF p_changes IS NOT NULL THEN
        FOREACH change IN ARRAY p_changes LOOP
            -- Without facts, its version alone.
            UPDATE threadkeep.conversation c SET
                version = change.version, is_first = coalesce(change.is_first, c.is_first), facts = coalesce(change.facts, c.facts),
                large = CASE WHEN change.facts IS NULL THEN c.large ELSE change.large END
            WHERE c.tenant = p_tenant AND c.key = change.conversation RETURNING c.owner, c.created_at INTO done, now;
            IF change.title_words IS NOT NULL THEN
                DELETE FROM threadkeep.title_word t WHERE t.tenant = p_tenant AND t.conversation = change.conversation;
                PERFORM threadkeep.add_title_words(p_tenant, done, change.conversation, now, change.title_words);
            END IF;
        END LOOP;
    END IF;
    IF p_turns IS NOT NULL THEN
        now := threadkeep.moment();
        FOREACH turn IN ARRAY p_turns LOOP
            turn.until := now + (turn.until - epoch);
            INSERT INTO threadkeep.turn (
                conversation, until, tenant, number, fence, state, owner, tenant_name, user_name, conversation_id
            ) VALUES (
                turn.conversation, turn.until, p_tenant, turn.number, turn.fence, turn.state, turn.owner,
                turn.tenant_name, turn.user_name, turn.conversation_id
            ) ON CONFLICT (tenant, conversation, number) DO UPDATE SET
                until = excluded.until, fence = excluded.fence, state = excluded.state, owner = excluded.owner;
        END LOOP;
    END IF;
    IF p_ended IS NOT NULL THEN
        FOREACH turn IN ARRAY p_ended LOOP
            DELETE FROM threadkeep.turn t
            WHERE t.tenant = p_tenant AND t.conversation = turn.conversation AND t.number = turn.number;
        END LOOP;
    END IF;
    IF p_chunks IS NOT NULL THEN
        FOREACH chunk IN ARRAY p_chunks LOOP
            INSERT INTO threadkeep.chunk (
                conversation, started_at, tenant, number, turn, begins, ends, bytes, message, text
            ) VALUES (
                chunk.conversation, chunk.started_at, p_tenant, chunk.number, chunk.turn, chunk.begins, chunk.ends,
                chunk.bytes, chunk.message, chunk.text
            );
        END LOOP;
    END IF;
    IF p_drafts IS NOT NULL THEN
        FOREACH chunk IN ARRAY p_drafts LOOP
            DELETE FROM threadkeep.chunk c WHERE c.tenant = p_tenant AND c.conversation = chunk.conversation;
            GET DIAGNOSTICS done = ROW_COUNT;
            IF done <> chunk.number THEN
                RAISE unique_violation USING MESSAGE = 'more was written of a message';
            END IF;
        END LOOP;
    END IF;
    IF p_uses IS NOT NULL THEN
        now := threadkeep.moment();
        FOREACH file IN ARRAY p_uses LOOP
            INSERT INTO threadkeep.file_use (conversation, tenant, file) VALUES (file.conversation, p_tenant, file.file)
            ON CONFLICT DO NOTHING;
            -- The last conversation that used it may have been deleted since it was looked up.
            UPDATE threadkeep.file f SET touched_at = now
            WHERE f.tenant = p_tenant AND f.id = file.file AND f.touched_at = 'epoch';
        END LOOP;
    END IF;
    IF p_acts IS NOT NULL THEN
        FOREACH act SLICE 1 IN ARRAY p_acts LOOP
            PERFORM threadkeep.add_act(p_tenant, act);
        END LOOP;
    END IF;
    PERFORM threadkeep.check_rooms(p_tenant, p_rooms);
END $$;

-- See whether what was just written leaves some users, and the tenant as a whole (0), within their caps: a row of `p_rooms` is who
-- it is, and the most conversations and bytes (0: no cap). Who counts, counts alone until its commit, and does so at the end, when it
-- waits for nothing else; the rows are in one order for everybody.
CREATE FUNCTION threadkeep.check_rooms(p_tenant integer, p_rooms bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE room bigint[]; kept record;
BEGIN
    IF p_rooms IS NOT NULL THEN
        FOREACH room SLICE 1 IN ARRAY p_rooms LOOP
            PERFORM pg_advisory_xact_lock(p_tenant, room[1]::integer);
            SELECT s.conversations, s.bytes INTO kept FROM threadkeep.statistics(p_tenant, nullif(room[1], 0)::integer, NULL) s;
            IF (room[2] > 0 AND kept.conversations > room[2]) OR (room[3] > 0 AND kept.bytes > room[3]) THEN
                RAISE SQLSTATE 'TK001' USING MESSAGE = 'there is no room left for this';
            END IF;
        END LOOP;
    END IF;
END $$;

CREATE FUNCTION threadkeep.add_title_words(p_tenant integer, p_owner integer, p_conversation bigint, p_at timestamptz, p_words text[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE added text;
BEGIN
    FOREACH added IN ARRAY p_words LOOP
        INSERT INTO threadkeep.title_word (conversation, created_at, tenant, owner, word)
        VALUES (p_conversation, p_at, p_tenant, p_owner, added);
    END LOOP;
END $$;

-- Keep what a key made. One whose conversation was deleted is free; any other that is there was used by somebody who was faster.
CREATE FUNCTION threadkeep.keep_key(p_tenant integer, p_key threadkeep.key) RETURNS void LANGUAGE plpgsql AS $$
DECLARE holder bigint;
BEGIN
    INSERT INTO threadkeep.key (conversation, tenant, first, last, name, digest)
    VALUES (p_key.conversation, p_tenant, p_key.first, p_key.last, p_key.name, p_key.digest) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        RETURN;
    END IF;
    -- In statements of their own, which see what was committed while the first one waited.
    SELECT k.conversation INTO holder FROM threadkeep.key k
    WHERE k.tenant = p_tenant AND k.name = p_key.name AND k.conversation <> p_key.conversation FOR UPDATE;
    IF NOT FOUND OR EXISTS (
        SELECT FROM threadkeep.conversation c WHERE c.tenant = p_tenant AND c.key = holder AND c.id IS NOT NULL
    ) THEN
        RAISE unique_violation USING MESSAGE = 'a key was used';
    END IF;
    UPDATE threadkeep.key k
    SET conversation = p_key.conversation, digest = p_key.digest, first = p_key.first, last = p_key.last
    WHERE k.tenant = p_tenant AND k.name = p_key.name;
END $$;

-- Create a conversation and return its key. Its id, or the key of the request, may be taken. Nobody forgets the user's name meanwhile.
CREATE FUNCTION threadkeep.create_conversation(
    p_tenant integer, p_owner integer, p_user text, p_id bytea, p_now timestamptz, p_key bytea, p_digest bytea,
    p_facts jsonb, p_large jsonb, p_title_words text[], p_bytes integer, p_rooms bigint[]
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE made bigint;
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    PERFORM FROM threadkeep.person p WHERE p.tenant = p_tenant AND p.name = p_user FOR KEY SHARE;
    IF NOT FOUND THEN
        PERFORM threadkeep.enter_person(p_tenant, p_user, p_owner);
    END IF;
    INSERT INTO threadkeep.conversation AS c (tenant, owner, id, created_at, updated_at, facts, large, bytes)
    VALUES (p_tenant, p_owner, p_id, p_now, p_now, p_facts, p_large, p_bytes) RETURNING c.key INTO made;
    PERFORM threadkeep.add_title_words(p_tenant, p_owner, made, p_now, p_title_words);
    IF p_key IS NOT NULL THEN
        PERFORM threadkeep.keep_key(p_tenant, ROW(made, p_tenant, 0, 0, p_key, p_digest)::threadkeep.key);
    END IF;
    PERFORM threadkeep.check_rooms(p_tenant, p_rooms);
    RETURN made;
END $$;
