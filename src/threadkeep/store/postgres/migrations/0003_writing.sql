-- Writing to the log. Each function is one transaction. A refusal is returned as a code of errors.py, with a number where
-- the error carries one, before anything is written.
--
-- Whoever writes to a conversation holds its advisory lock (`p_lock`) first; the next statement then sees what the one
-- before it wrote. That leaves no trace in the log of the database and orders appends, turns and deletion alike.
--
-- The plain append (append_one.sql) does without: it adds an entry behind the last one that its caller knows, which fails if
-- there is another by now, and shares the conversation's row in `behind`, without which it does nothing. All others lock
-- that row, so that no plain append comes in between.

CREATE FUNCTION threadkeep.hold(p_tenant integer, p_owner integer, p_id bytea, p_lock bigint)
RETURNS threadkeep.place LANGUAGE plpgsql AS $$
DECLARE
    here threadkeep.place;
    is_behind boolean;
BEGIN
    PERFORM pg_advisory_xact_lock(p_lock), set_config('threadkeep.tenant', p_tenant::text, true);
    PERFORM FROM threadkeep.conversation c JOIN threadkeep.behind b
        ON b.tenant = c.tenant AND b.owner = c.owner AND b.conversation = c.key
    WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner FOR UPDATE OF b;
    is_behind := FOUND;
    SELECT c.tenant, c.owner, c.key, is_behind, c.version, c.last, c.head, c.newest, c.total INTO here
    FROM threadkeep.conversation_now c WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner;
    RETURN here;
END $$;

-- Whether this is the number of an entry that continues a branch.
CREATE FUNCTION threadkeep.is_on_branch(p_tenant integer, p_conversation bigint, p_seq bigint)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = p_conversation AND e.seq = p_seq AND e.kind <= 8
    );
END $$;

-- The entry that continued `p_parent` in its own run, or 0.
CREATE FUNCTION threadkeep.follower(p_tenant integer, p_conversation bigint, p_parent integer)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE found_seq integer;
BEGIN
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

-- Put bodies at the end of the log, as store/placement.py says, and return the place after them.
CREATE FUNCTION threadkeep.put(
    here threadkeep.place, p_bodies threadkeep.body[], p_parent integer, p_turn integer, p_now timestamptz
) RETURNS threadkeep.place LANGUAGE plpgsql AS $$
DECLARE
    body threadkeep.body;
    at integer := p_parent;
BEGIN
    FOREACH body IN ARRAY p_bodies LOOP
        here.last := here.last + 1;
        here.total := here.total + body.size;
        IF body.kind <= 8 AND at <> here.newest THEN
            INSERT INTO threadkeep.jump (tenant, conversation, first, parent, "left", beside) VALUES (
                here.tenant, here.conversation, here.last, at, here.newest,
                threadkeep.follower(here.tenant, here.conversation, at)
            );
        END IF;
        INSERT INTO threadkeep.entry (
            tenant, conversation, seq, parent, kind, turn, created_at, total, head, newest, id, tokens, content, parts
        ) VALUES (
            here.tenant, here.conversation, here.last, at, body.kind, p_turn, p_now, here.total,
            CASE WHEN body.kind > 8 THEN here.head END, CASE WHEN body.kind > 8 THEN here.newest END,
            body.id, body.tokens, body.content, body.parts
        );
        IF body.kind <= 8 THEN
            at := here.last;
            here.head := at;
            here.newest := at;
        END IF;
    END LOOP;
    IF NOT here.is_behind THEN
        INSERT INTO threadkeep.behind (tenant, owner, conversation)
        VALUES (here.tenant, here.owner, here.conversation);
        here.is_behind := true;
    END IF;
    RETURN here;
END $$;

-- What a key made before, if it is a repeated one. A key of a deleted conversation is free again.
CREATE FUNCTION threadkeep.replay(
    p_tenant integer, p_name bytea, p_digest bytea,
    OUT refused text, OUT conversation bigint, OUT id bytea, OUT first integer, OUT last integer
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT CASE WHEN k.digest = p_digest THEN 'replayed' ELSE 'idempotency_key_reused' END,
           c.key, c.id, k.first, k.last
    INTO refused, conversation, id, first, last
    FROM threadkeep.key k JOIN threadkeep.conversation c ON c.tenant = k.tenant AND c.key = k.conversation
    WHERE k.tenant = p_tenant AND k.name = p_name AND c.id IS NOT NULL;
END $$;

CREATE FUNCTION threadkeep.remember(
    p_tenant integer, p_conversation bigint, p_name bytea, p_digest bytea, p_first integer, p_last integer
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO threadkeep.key (tenant, conversation, name, digest, first, last)
    VALUES (p_tenant, p_conversation, p_name, p_digest, p_first, p_last) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        RETURN;
    END IF;
    -- It may be the key of a deleted conversation. That one is looked for in a statement of its own, which sees what
    -- was committed while the first one waited.
    UPDATE threadkeep.key k SET conversation = p_conversation, digest = p_digest, first = p_first, last = p_last
    WHERE k.tenant = p_tenant AND k.name = p_name AND NOT EXISTS (
        SELECT FROM threadkeep.conversation c
        WHERE c.tenant = k.tenant AND c.key = k.conversation AND c.id IS NOT NULL
    );
    IF NOT FOUND THEN
        -- Another transaction was faster with this key: the caller tries again, and finds what that one made.
        RAISE serialization_failure;
    END IF;
END $$;

CREATE FUNCTION threadkeep.create_conversation(
    p_tenant integer, p_owner integer, p_id bytea, p_now timestamptz, p_key bytea, p_digest bytea,
    p_assistant text, p_title text, p_model text, p_metadata jsonb, p_system text,
    OUT refused text, OUT id bytea
) LANGUAGE plpgsql AS $$
DECLARE
    earlier record;
    made bigint;
BEGIN
    PERFORM threadkeep.work_for(p_tenant);
    IF p_key IS NOT NULL THEN
        SELECT * INTO earlier FROM threadkeep.replay(p_tenant, p_key, p_digest);
        refused := earlier.refused;
        id := earlier.id;
    END IF;
    IF refused IS NULL AND EXISTS (
        SELECT FROM threadkeep.conversation c WHERE c.tenant = p_tenant AND c.id = p_id
    ) THEN
        refused := 'already_exists';
    END IF;
    IF refused IS NOT NULL THEN
        RETURN;
    END IF;
    INSERT INTO threadkeep.conversation AS c (
        tenant, owner, id, created_at, updated_at, assistant, title, model, metadata, system
    ) VALUES (
        p_tenant, p_owner, p_id, p_now, p_now, p_assistant, p_title, p_model, p_metadata, p_system
    ) RETURNING c.key INTO made;
    id := p_id;
    IF p_key IS NOT NULL THEN
        PERFORM threadkeep.remember(p_tenant, made, p_key, p_digest, 0, 0);
    END IF;
END $$;

CREATE FUNCTION threadkeep.update_conversation(
    p_tenant integer, p_owner integer, p_id bytea, p_lock bigint, p_now timestamptz, p_version bigint,
    p_body threadkeep.body, p_title text, p_metadata jsonb, p_status text, p_archived boolean, p_model text,
    OUT refused text, OUT number bigint, OUT now threadkeep.conversation_now
) LANGUAGE plpgsql AS $$
DECLARE here threadkeep.place := threadkeep.hold(p_tenant, p_owner, p_id, p_lock);
BEGIN
    IF here.conversation IS NULL THEN
        refused := 'conversation_not_found';
        RETURN;
    ELSIF p_version <> here.version THEN
        refused := 'stale_version';
        number := here.version;
        RETURN;
    END IF;
    UPDATE threadkeep.conversation c SET
        version = c.version + 1, title = coalesce(p_title, c.title), metadata = coalesce(p_metadata, c.metadata),
        status = coalesce(p_status, c.status), archived = coalesce(p_archived, c.archived),
        model = coalesce(p_model, c.model)
    WHERE c.tenant = here.tenant AND c.key = here.conversation;
    PERFORM threadkeep.put(here, ARRAY[p_body], here.head, NULL, p_now);
    SELECT * INTO now FROM threadkeep.conversation_now c WHERE c.tenant = here.tenant AND c.key = here.conversation;
END $$;

CREATE FUNCTION threadkeep.choose_head(
    p_tenant integer, p_owner integer, p_id bytea, p_lock bigint, p_now timestamptz, p_version bigint,
    p_body threadkeep.body, p_head bigint,
    OUT refused text, OUT number bigint, OUT now threadkeep.conversation_now
) LANGUAGE plpgsql AS $$
DECLARE here threadkeep.place := threadkeep.hold(p_tenant, p_owner, p_id, p_lock);
BEGIN
    IF here.conversation IS NULL THEN
        refused := 'conversation_not_found';
        RETURN;
    ELSIF p_version <> here.version THEN
        refused := 'stale_version';
        number := here.version;
        RETURN;
    ELSIF p_head <> 0 AND NOT threadkeep.is_on_branch(here.tenant, here.conversation, p_head) THEN
        refused := 'entry_not_found';
        RETURN;
    END IF;
    UPDATE threadkeep.conversation c SET version = c.version + 1
    WHERE c.tenant = here.tenant AND c.key = here.conversation;
    here.head := p_head;
    PERFORM threadkeep.put(here, ARRAY[p_body], here.head, NULL, p_now);
    SELECT * INTO now FROM threadkeep.conversation_now c WHERE c.tenant = here.tenant AND c.key = here.conversation;
END $$;

-- Make a conversation unreachable at once; what belongs to it is purged in steps.
CREATE FUNCTION threadkeep.hide(
    p_tenant integer, p_owner integer, p_id bytea, p_lock bigint,
    OUT refused text, OUT conversation bigint
) LANGUAGE plpgsql AS $$
DECLARE here threadkeep.place := threadkeep.hold(p_tenant, p_owner, p_id, p_lock);
BEGIN
    IF here.conversation IS NULL THEN
        refused := 'conversation_not_found';
        RETURN;
    END IF;
    conversation := here.conversation;
    UPDATE threadkeep.conversation c SET id = NULL WHERE c.tenant = here.tenant AND c.key = here.conversation;
    DELETE FROM threadkeep.turn t WHERE t.tenant = here.tenant AND t.conversation = here.conversation;
    DELETE FROM threadkeep.behind b
    WHERE b.tenant = here.tenant AND b.owner = here.owner AND b.conversation = here.conversation;
    INSERT INTO threadkeep.removal (tenant, conversation) VALUES (here.tenant, here.conversation);
END $$;

-- Remove what belongs to the entries from number `p_first` up to before `p_next` of a hidden conversation, and at last all the
-- rest; return whether more is left.
CREATE FUNCTION threadkeep.purge(p_tenant integer, p_conversation bigint, p_first integer, p_next integer)
RETURNS boolean LANGUAGE plpgsql AS $$
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
    IF threadkeep.forget_words(p_tenant, p_conversation, p_next - p_first) OR last >= p_next THEN
        RETURN true;
    END IF;
    DELETE FROM threadkeep.chunk c WHERE c.tenant = p_tenant AND c.conversation = p_conversation;
    DELETE FROM threadkeep.conversation c WHERE c.tenant = p_tenant AND c.key = p_conversation;
    DELETE FROM threadkeep.removal r WHERE r.tenant = p_tenant AND r.conversation = p_conversation;
    RETURN false;
END $$;

CREATE FUNCTION threadkeep.removals(p_limit integer)
RETURNS TABLE (tenant integer, conversation bigint) LANGUAGE sql STABLE AS $$
    SELECT r.tenant, r.conversation FROM threadkeep.removal r LIMIT p_limit
$$;

CREATE FUNCTION threadkeep.ping() RETURNS void LANGUAGE sql AS $$
    UPDATE threadkeep.pulse SET at = now()
$$;
