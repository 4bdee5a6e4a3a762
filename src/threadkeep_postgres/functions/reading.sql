-- Reading. Every function is STABLE: all its statements see the database as of one moment. A refusal comes as a row of its
-- own, with a code of errors.py in `refused`. What is compared with a column is put into a variable first: under row-level
-- security `coalesce` and the like are no condition of an index.

-- A conversation of this owner, and an entry of its branches: `p_at`, or else the head. Or why not.
CREATE FUNCTION threadkeep.find(
    p_tenant integer, p_owner integer, p_id bytea, p_at bigint,
    OUT refused text, OUT key bigint, OUT last integer, OUT head integer, OUT newest integer, OUT at integer, OUT parent integer
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    SELECT c.key, coalesce(e.seq, 0), coalesce(e.head, e.seq, 0), coalesce(e.newest, e.seq, 0) INTO key, last, head, newest
    FROM threadkeep.conversation c
    LEFT JOIN LATERAL (
        SELECT e.seq, e.head, e.newest FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = c.key ORDER BY e.seq DESC LIMIT 1
    ) e ON true
    WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner;
    at := head;
    IF key IS NULL THEN
        refused := 'conversation_not_found';
    ELSIF p_at IS NOT NULL THEN
        SELECT e.seq, e.parent INTO at, parent FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = find.key AND e.seq = p_at AND e.kind <= 8;
        IF NOT FOUND THEN
            refused := 'entry_not_found';
        END IF;
    END IF;
END $$;

-- Conversations as they are now: the end of a log is what its last entry tells.
CREATE FUNCTION threadkeep.now(p_tenant integer, p_keys bigint[]) RETURNS TABLE (
    key bigint, owner integer, id bytea, version integer, created_at timestamptz, updated_at timestamptz, is_first boolean,
    facts jsonb, large jsonb, last integer, head integer, newest integer
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT c.key, c.owner, c.id, c.version, c.created_at, coalesce(e.created_at, c.created_at), c.is_first,
           c.facts, c.large, coalesce(e.seq, 0), coalesce(e.head, e.seq, 0), coalesce(e.newest, e.seq, 0)
    FROM threadkeep.conversation c
    LEFT JOIN LATERAL (
        SELECT e.created_at, e.seq, e.head, e.newest FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = c.key ORDER BY e.seq DESC LIMIT 1
    ) e ON true
    WHERE c.tenant = p_tenant AND c.key = ANY (p_keys) AND c.id IS NOT NULL;
END $$;

-- The user's conversations, the last active first, from before that activity and key down to the floor. Those whose activity
-- is not indexed yet are looked at one by one; the others come from the index in order. `p_where` is as `is_listed` wants it.
CREATE FUNCTION threadkeep.list(
    p_tenant integer, p_owner integer, p_before timestamptz, p_key bigint, p_floor timestamptz, p_floor_key bigint,
    p_where jsonb, p_limit integer
) RETURNS TABLE (
    key bigint, id bytea, version integer, created_at timestamptz, updated_at timestamptz, facts jsonb, last integer, head integer
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    IF (p_where ->> 'first')::boolean THEN
        -- They are few, and have an index of their own.
        RETURN QUERY SELECT n.key, n.id, n.version, n.created_at, n.updated_at, n.facts, n.last, n.head
        FROM threadkeep.now(p_tenant, ARRAY(
            SELECT c.key FROM threadkeep.conversation c
            WHERE c.tenant = p_tenant AND c.owner = p_owner AND c.is_first AND c.id IS NOT NULL
        )) n
        WHERE (n.updated_at, n.key) < (p_before, p_key)
          AND threadkeep.is_listed(p_tenant, n.key, n.is_first, n.facts, n.large, p_where)
        ORDER BY n.updated_at DESC, n.key DESC LIMIT p_limit;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT n.key, n.id, n.version, n.created_at, n.updated_at, n.facts, n.last, n.head FROM threadkeep.now(p_tenant, ARRAY(
        SELECT b.conversation FROM threadkeep.behind b WHERE b.tenant = p_tenant AND b.owner = p_owner
        UNION ALL (
            SELECT c.key FROM threadkeep.conversation c
            WHERE c.tenant = p_tenant AND c.owner = p_owner AND c.id IS NOT NULL
              AND (c.updated_at, c.key) < (p_before, p_key) AND (c.updated_at, c.key) >= (p_floor, p_floor_key)
              AND (p_where IS NULL OR threadkeep.is_listed(p_tenant, c.key, c.is_first, c.facts, c.large, p_where))
              -- Not as NOT EXISTS, which may be planned as a join with all that are behind.
              AND coalesce((
                  SELECT false FROM threadkeep.behind b
                  WHERE b.tenant = p_tenant AND b.owner = p_owner AND b.conversation = c.key
              ), true)
            ORDER BY c.updated_at DESC, c.key DESC LIMIT p_limit
        )
    )) n
    WHERE (n.updated_at, n.key) < (p_before, p_key) AND (n.updated_at, n.key) >= (p_floor, p_floor_key)
      AND (p_where IS NULL OR threadkeep.is_listed(p_tenant, n.key, n.is_first, n.facts, n.large, p_where))
    ORDER BY n.updated_at DESC, n.key DESC LIMIT p_limit;
END $$;

-- As `list`, of all users of a tenant.
CREATE FUNCTION threadkeep.list_tenant(
    p_tenant integer, p_before timestamptz, p_key bigint, p_floor timestamptz, p_floor_key bigint, p_where jsonb, p_limit integer
) RETURNS TABLE (
    user_name text, key bigint, id bytea, version integer, created_at timestamptz, updated_at timestamptz, facts jsonb,
    last integer, head integer
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    RETURN QUERY
    SELECT p.name, n.key, n.id, n.version, n.created_at, n.updated_at, n.facts, n.last, n.head
    FROM threadkeep.now(p_tenant, ARRAY(
        SELECT b.conversation FROM threadkeep.behind b WHERE b.tenant = p_tenant
        UNION ALL (
            SELECT c.key FROM threadkeep.conversation c
            WHERE c.tenant = p_tenant AND c.id IS NOT NULL
              AND (c.updated_at, c.key) < (p_before, p_key) AND (c.updated_at, c.key) >= (p_floor, p_floor_key)
              AND (p_where IS NULL OR threadkeep.is_listed(p_tenant, c.key, c.is_first, c.facts, c.large, p_where))
              AND coalesce((
                  SELECT false FROM threadkeep.behind b
                  WHERE b.tenant = p_tenant AND b.owner = c.owner AND b.conversation = c.key
              ), true)
            ORDER BY c.updated_at DESC, c.key DESC LIMIT p_limit
        )
    )) n JOIN threadkeep.person p ON p.tenant = p_tenant AND p.key = n.owner
    WHERE (n.updated_at, n.key) < (p_before, p_key) AND (n.updated_at, n.key) >= (p_floor, p_floor_key)
      AND (p_where IS NULL OR threadkeep.is_listed(p_tenant, n.key, n.is_first, n.facts, n.large, p_where))
    ORDER BY n.updated_at DESC, n.key DESC LIMIT p_limit;
END $$;

-- First, parent, left and beside of each jump, one after the other.
CREATE FUNCTION threadkeep.jumps(p_tenant integer, p_conversation bigint)
RETURNS integer[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN array_agg(n ORDER BY j.first, place) FROM threadkeep.jump j,
    LATERAL unnest(ARRAY[j.first, j.parent, j."left", j.beside]) WITH ORDINALITY number (n, place)
    WHERE j.tenant = p_tenant AND j.conversation = p_conversation;
END $$;

-- The run of a branch that ends in `p_seq`: where it starts, and what it continues.
CREATE FUNCTION threadkeep.run(
    p_tenant integer, p_conversation bigint, p_seq integer, OUT first integer, OUT last integer, OUT parent integer
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    last := p_seq;
    SELECT j.first, j.parent INTO first, parent FROM threadkeep.jump j
    WHERE j.tenant = p_tenant AND j.conversation = p_conversation AND j.first <= p_seq
    ORDER BY j.first DESC LIMIT 1;
    IF NOT FOUND THEN
        first := 1;
        parent := 0;
    END IF;
END $$;

-- The runs of the branch that ends in `p_head`, oldest first, back to the one that begins at or before `p_back_to`.
CREATE FUNCTION threadkeep.path(
    p_tenant integer, p_conversation bigint, p_head integer, p_back_to bigint, OUT firsts integer[], OUT lasts integer[]
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    run record;
    at integer := p_head;
BEGIN
    WHILE at > 0 LOOP
        SELECT * INTO run FROM threadkeep.run(p_tenant, p_conversation, at);
        firsts := run.first || firsts;
        lasts := at || lasts;
        EXIT WHEN run.first <= p_back_to;
        at := run.parent;
    END LOOP;
END $$;

-- The newest entries of the branch that ends in `p_at`, newest first, until there are so many messages, entries or bytes.
CREATE FUNCTION threadkeep.newest_messages(
    p_tenant integer, p_conversation bigint, p_at integer, p_messages integer, p_entries integer, p_bytes bigint
) RETURNS SETOF threadkeep.line LANGUAGE plpgsql STABLE AS $$
DECLARE
    run record;
    line threadkeep.line;
BEGIN
    WHILE p_at > 0 AND least(p_messages, p_entries) > 0 LOOP
        SELECT * INTO run FROM threadkeep.run(p_tenant, p_conversation, p_at);
        FOR line IN
            SELECT NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
            FROM threadkeep.entry e
            WHERE e.tenant = p_tenant AND e.conversation = p_conversation AND e.kind <= 8
              AND e.seq BETWEEN run.first AND p_at
            ORDER BY e.seq DESC LIMIT p_entries
        LOOP
            RETURN NEXT line;
            p_entries := p_entries - 1;
            p_messages := p_messages - (line.kind < 8)::integer;
            p_bytes := p_bytes - coalesce(octet_length(line.content), 0);
            IF least(p_messages, p_entries, p_bytes) <= 0 THEN
                RETURN;
            END IF;
        END LOOP;
        p_at := run.parent;
    END LOOP;
END $$;

-- The newest entries of a branch, newest first: of the one that ends in `p_head` (null: the current one), or those that
-- come before the entry `p_before`.
CREATE FUNCTION threadkeep.newest(
    p_tenant integer, p_owner integer, p_id bytea, p_head bigint, p_before bigint, p_limit integer
) RETURNS SETOF threadkeep.line LANGUAGE plpgsql STABLE AS $$
DECLARE
    here record;
    run record;
    read integer;
    at integer;
    line threadkeep.line;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id, coalesce(p_before, p_head));
    IF here.refused IS NOT NULL THEN
        line.refused := here.refused;
        RETURN NEXT line;
        RETURN;
    END IF;
    at := CASE WHEN p_before IS NULL THEN here.at ELSE here.parent END;
    WHILE at > 0 AND p_limit > 0 LOOP
        SELECT * INTO run FROM threadkeep.run(p_tenant, here.key, at);
        RETURN QUERY SELECT NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
        FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = here.key AND e.seq BETWEEN run.first AND at AND e.kind <= 8
        ORDER BY e.seq DESC LIMIT p_limit;
        GET DIAGNOSTICS read = ROW_COUNT;
        p_limit := p_limit - read;
        at := run.parent;
    END LOOP;
END $$;

-- What follows `p_seq` on the branch that ends in `p_head` (null: the current one), oldest first.
CREATE FUNCTION threadkeep.after(
    p_tenant integer, p_owner integer, p_id bytea, p_seq bigint, p_head bigint, p_limit integer
) RETURNS SETOF threadkeep.line LANGUAGE plpgsql STABLE AS $$
DECLARE
    here record;
    path record;
    read integer;
    line threadkeep.line;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id, p_head);
    line.refused := here.refused;
    IF line.refused IS NULL THEN
        SELECT * INTO path FROM threadkeep.path(p_tenant, here.key, here.at, p_seq);
        IF p_seq <> 0 AND (path.firsts IS NULL OR p_seq NOT BETWEEN path.firsts[1] AND path.lasts[1] OR NOT EXISTS (
            SELECT FROM threadkeep.entry e
            WHERE e.tenant = p_tenant AND e.conversation = here.key AND e.seq = p_seq AND e.kind <= 8
        )) THEN
            line.refused := 'entry_not_found';
        END IF;
    END IF;
    IF line.refused IS NOT NULL THEN
        RETURN NEXT line;
        RETURN;
    END IF;
    FOR i IN 1 .. coalesce(cardinality(path.firsts), 0) LOOP
        RETURN QUERY SELECT NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
        FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = here.key AND e.kind <= 8
          AND e.seq BETWEEN greatest(path.firsts[i], p_seq + 1) AND path.lasts[i]
        ORDER BY e.seq LIMIT p_limit;
        GET DIAGNOSTICS read = ROW_COUNT;
        p_limit := p_limit - read;
        EXIT WHEN p_limit = 0;
    END LOOP;
END $$;

-- How many messages there are on the branch that ends in `p_head` (null: the current one): each entry tells how many there are
-- up to it on all branches.
CREATE FUNCTION threadkeep.count(
    p_tenant integer, p_owner integer, p_id bytea, p_head bigint, OUT refused text, OUT messages bigint
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    here record;
    path record;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id, p_head);
    refused := here.refused;
    SELECT * INTO path FROM threadkeep.path(p_tenant, here.key, here.at, 0);
    SELECT coalesce(sum(CASE WHEN e.seq = ANY (path.lasts) THEN e.messages ELSE 0 END
                        - CASE WHEN e.seq + 1 = ANY (path.firsts) THEN e.messages ELSE 0 END), 0) INTO messages
    FROM threadkeep.entry e
    WHERE e.tenant = p_tenant AND e.conversation = here.key
      AND e.seq IN (SELECT unnest(path.lasts) UNION SELECT unnest(path.firsts) - 1);
END $$;

-- What the log holds after `p_seq`, and a line of kind -1 with the text being written if that reaches the end of the log: from a
-- piece on that holds character `p_offset` if it is the message `p_message`; `seq` is the first character's number.
CREATE FUNCTION threadkeep.log(
    p_tenant integer, p_owner integer, p_id bytea, p_seq bigint, p_message bytea, p_offset bigint, p_limit integer
) RETURNS SETOF threadkeep.line LANGUAGE plpgsql STABLE AS $$
DECLARE
    here record;
    line threadkeep.line;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id, NULL);
    IF here.key IS NULL OR p_seq > here.last THEN
        line.refused := coalesce(here.refused, 'invalid_cursor');
        RETURN NEXT line;
        RETURN;
    END IF;
    RETURN QUERY SELECT NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
    FROM threadkeep.entry e
    WHERE e.tenant = p_tenant AND e.conversation = here.key AND e.seq > p_seq ORDER BY e.seq LIMIT p_limit;
    IF p_seq + p_limit < here.last THEN
        RETURN;
    END IF;
    SELECT c.message, c.turn, c.started_at INTO line.id, line.turn, line.created_at
    FROM threadkeep.chunk c WHERE c.tenant = p_tenant AND c.conversation = here.key ORDER BY c.number LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    line.kind := -1;
    SELECT min(c.begins), string_agg(c.text, '' ORDER BY c.number) INTO line.seq, line.content FROM threadkeep.chunk c
    WHERE c.tenant = p_tenant AND c.conversation = here.key
      AND c.ends > CASE WHEN line.id = p_message THEN p_offset ELSE 0 END;
    RETURN NEXT line;
END $$;

-- The newest summary that remarks on an entry of the branch that ends in `p_head` (null: the current one).
CREATE FUNCTION threadkeep.summary(p_tenant integer, p_owner integer, p_id bytea, p_head bigint)
RETURNS SETOF threadkeep.line LANGUAGE plpgsql STABLE AS $$
DECLARE
    here record;
    path record;
    line threadkeep.line;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id, p_head);
    IF here.refused IS NOT NULL THEN
        line.refused := here.refused;
        RETURN NEXT line;
        RETURN;
    END IF;
    SELECT * INTO path FROM threadkeep.path(p_tenant, here.key, here.at, 0);
    RETURN QUERY SELECT NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
    FROM threadkeep.entry e
    WHERE e.tenant = p_tenant AND e.conversation = here.key AND e.kind = 9 AND EXISTS (
        SELECT FROM unnest(path.firsts, path.lasts) run (first, last) WHERE e.parent BETWEEN run.first AND run.last
    ) ORDER BY e.seq DESC LIMIT 1;
END $$;

CREATE FUNCTION threadkeep.statistics(
    p_tenant integer, p_owner integer, p_id bytea, OUT conversations bigint, OUT entries bigint, OUT bytes bigint
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    SELECT count(*), coalesce(sum(e.seq), 0), coalesce(sum(coalesce(e.total, c.bytes)), 0) INTO conversations, entries, bytes
    FROM threadkeep.conversation c
    LEFT JOIN LATERAL (
        SELECT e.seq, e.total FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = c.key ORDER BY e.seq DESC LIMIT 1
    ) e ON true
    WHERE c.tenant = p_tenant AND c.id IS NOT NULL AND (p_owner IS NULL OR c.owner = p_owner) AND (p_id IS NULL OR c.id = p_id);
END $$;

