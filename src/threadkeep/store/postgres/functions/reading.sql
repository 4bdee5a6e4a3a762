-- Reading. Every function is STABLE: all its statements see the database as of one moment. A refusal comes as a row of its
-- own, with a code of errors.py in `refused`. What is compared with a column is put into a variable first: under row-level
-- security `coalesce` and the like are no condition of an index.

-- The key of a conversation of this owner and its head; null if there is none.
CREATE FUNCTION threadkeep.find(
    p_tenant integer, p_owner integer, p_id bytea, OUT key bigint, OUT last integer, OUT head integer, OUT newest integer
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    SELECT c.key, c.last, c.head, c.newest INTO key, last, head, newest FROM threadkeep.conversation_now c
    WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner;
END $$;

CREATE FUNCTION threadkeep.get(p_tenant integer, p_owner integer, p_id bytea)
RETURNS SETOF threadkeep.conversation_now LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    RETURN QUERY SELECT * FROM threadkeep.conversation_now c
    WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner;
END $$;

-- Whether metadata has these values; a text, a whole number or true and false are compared as text.
CREATE FUNCTION threadkeep.has_metadata(p_metadata jsonb, p_wanted jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT NOT EXISTS (
        SELECT FROM jsonb_each_text(p_wanted) w WHERE NOT coalesce(
            p_metadata ->> w.key = w.value AND CASE jsonb_typeof(p_metadata -> w.key)
                WHEN 'number' THEN w.value ~ '^-?[0-9]+$' ELSE jsonb_typeof(p_metadata -> w.key) IN ('string', 'boolean')
            END, false
        )
    )
$$;

-- How far a filter of a list looks back: activity and key of the last of so many conversations, no row if there are less.
-- Without an owner it is the list of all users.
CREATE FUNCTION threadkeep.list_floor(
    p_tenant integer, p_owner integer, p_before timestamptz, p_key bigint, p_looked_at integer
) RETURNS TABLE (updated_at timestamptz, key bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    IF p_owner IS NULL THEN
        RETURN QUERY SELECT c.updated_at, c.key FROM threadkeep.conversation c
        WHERE c.tenant = p_tenant AND c.id IS NOT NULL AND (c.updated_at, c.key) < (p_before, p_key)
        ORDER BY c.updated_at DESC, c.key DESC LIMIT 1 OFFSET p_looked_at - 1;
    ELSE
        RETURN QUERY SELECT c.updated_at, c.key FROM threadkeep.conversation c
        WHERE c.tenant = p_tenant AND c.owner = p_owner AND c.id IS NOT NULL AND (c.updated_at, c.key) < (p_before, p_key)
        ORDER BY c.updated_at DESC, c.key DESC LIMIT 1 OFFSET p_looked_at - 1;
    END IF;
END $$;

-- The user's conversations, the last active first, from before that activity and key down to the floor. Those whose activity
-- is not indexed yet are looked at one by one; the others come from the index in order.
CREATE FUNCTION threadkeep.list(
    p_tenant integer, p_owner integer, p_before timestamptz, p_key bigint, p_floor timestamptz, p_floor_key bigint,
    p_where threadkeep.list_filter, p_limit integer
) RETURNS SETOF threadkeep.conversation_now LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    IF p_where.is_first THEN
        -- They are few, and have an index of their own.
        RETURN QUERY SELECT n.* FROM threadkeep.conversation c
        JOIN threadkeep.conversation_now n ON n.tenant = c.tenant AND n.key = c.key
        WHERE c.tenant = p_tenant AND c.owner = p_owner AND c.is_first AND c.id IS NOT NULL
          AND (n.updated_at, n.key) < (p_before, p_key)
          AND threadkeep.is_listed(n.tenant, n.key, n.is_first, n.facts, n.large, p_where)
        ORDER BY n.updated_at DESC, n.key DESC LIMIT p_limit;
        RETURN;
    END IF;
    RETURN QUERY
    WITH late AS (
        SELECT n.* FROM threadkeep.behind b
        JOIN threadkeep.conversation_now n ON n.tenant = b.tenant AND n.key = b.conversation
        WHERE b.tenant = p_tenant AND b.owner = p_owner AND (n.updated_at, n.key) < (p_before, p_key)
          AND (n.updated_at, n.key) >= (p_floor, p_floor_key)
          AND threadkeep.is_listed(n.tenant, n.key, n.is_first, n.facts, n.large, p_where)
        ORDER BY n.updated_at DESC, n.key DESC LIMIT p_limit
    ), calm AS (
        SELECT c.key FROM threadkeep.conversation c
        WHERE c.tenant = p_tenant AND c.owner = p_owner AND c.id IS NOT NULL
          AND (c.updated_at, c.key) < (p_before, p_key) AND (c.updated_at, c.key) >= (p_floor, p_floor_key)
          AND threadkeep.is_listed(c.tenant, c.key, c.is_first, c.facts, c.large, p_where)
          -- Not as NOT EXISTS, which may be planned as a join with all that are behind.
          AND coalesce((
              SELECT false FROM threadkeep.behind b
              WHERE b.tenant = p_tenant AND b.owner = p_owner AND b.conversation = c.key
          ), true)
        ORDER BY c.updated_at DESC, c.key DESC LIMIT p_limit
    )
    SELECT * FROM (
        SELECT * FROM late
        UNION ALL
        SELECT n.* FROM calm JOIN threadkeep.conversation_now n ON n.tenant = p_tenant AND n.key = calm.key
    ) both_kinds ORDER BY updated_at DESC, key DESC LIMIT p_limit;
END $$;

-- As `list`, of all users of a tenant.
CREATE FUNCTION threadkeep.list_tenant(
    p_tenant integer, p_before timestamptz, p_key bigint, p_floor timestamptz, p_floor_key bigint,
    p_where threadkeep.list_filter, p_limit integer
) RETURNS TABLE (user_name text, now threadkeep.conversation_now) LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    RETURN QUERY
    WITH late AS (
        SELECT n.* FROM threadkeep.behind b
        JOIN threadkeep.conversation_now n ON n.tenant = b.tenant AND n.key = b.conversation
        WHERE b.tenant = p_tenant AND (n.updated_at, n.key) < (p_before, p_key)
          AND (n.updated_at, n.key) >= (p_floor, p_floor_key)
          AND threadkeep.is_listed(n.tenant, n.key, n.is_first, n.facts, n.large, p_where)
        ORDER BY n.updated_at DESC, n.key DESC LIMIT p_limit
    ), calm AS (
        SELECT c.key FROM threadkeep.conversation c
        WHERE c.tenant = p_tenant AND c.id IS NOT NULL
          AND (c.updated_at, c.key) < (p_before, p_key) AND (c.updated_at, c.key) >= (p_floor, p_floor_key)
          AND threadkeep.is_listed(c.tenant, c.key, c.is_first, c.facts, c.large, p_where)
          AND coalesce((
              SELECT false FROM threadkeep.behind b
              WHERE b.tenant = p_tenant AND b.owner = c.owner AND b.conversation = c.key
          ), true)
        ORDER BY c.updated_at DESC, c.key DESC LIMIT p_limit
    ), page AS (
        SELECT * FROM (
            SELECT * FROM late
            UNION ALL
            SELECT n.* FROM calm JOIN threadkeep.conversation_now n ON n.tenant = p_tenant AND n.key = calm.key
        ) both_kinds ORDER BY updated_at DESC, key DESC LIMIT p_limit
    )
    SELECT p.name, page::threadkeep.conversation_now FROM page
    JOIN threadkeep.person p ON p.tenant = p_tenant AND p.key = page.owner
    ORDER BY page.updated_at DESC, page.key DESC;
END $$;

-- Whose a conversation of a tenant is; no row if there is none.
CREATE FUNCTION threadkeep.owner_of(p_tenant integer, p_id bytea) RETURNS TABLE (name text) LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM threadkeep.work_for(p_tenant);
    RETURN QUERY SELECT p.name FROM threadkeep.conversation c
    JOIN threadkeep.person p ON p.tenant = c.tenant AND p.key = c.owner WHERE c.tenant = p_tenant AND c.id = p_id;
END $$;

CREATE FUNCTION threadkeep.users(p_tenant integer) RETURNS TABLE (name text) LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM threadkeep.work_for(p_tenant);
    RETURN QUERY SELECT p.name FROM threadkeep.person p
    WHERE p.tenant = p_tenant AND EXISTS (
        SELECT FROM threadkeep.conversation c WHERE c.tenant = p_tenant AND c.owner = p.key AND c.id IS NOT NULL
    ) ORDER BY p.name;
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

CREATE FUNCTION threadkeep.tree(
    p_tenant integer, p_owner integer, p_id bytea,
    OUT refused text, OUT head integer, OUT newest integer, OUT jumps integer[]
) LANGUAGE plpgsql STABLE AS $$
DECLARE here record;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id);
    IF here.key IS NULL THEN
        refused := 'conversation_not_found';
        RETURN;
    END IF;
    head := here.head;
    newest := here.newest;
    jumps := threadkeep.jumps(p_tenant, here.key);
END $$;

-- First, parent, left and beside of each jump, one after the other.
CREATE FUNCTION threadkeep.jumps(p_tenant integer, p_conversation bigint)
RETURNS integer[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN array_agg(n ORDER BY j.first, place) FROM threadkeep.jump j,
    LATERAL unnest(ARRAY[j.first, j.parent, j."left", j.beside]) WITH ORDINALITY number (n, place)
    WHERE j.tenant = p_tenant AND j.conversation = p_conversation;
END $$;

-- The start of the run that ends in `p_seq` and what it continues.
CREATE FUNCTION threadkeep.run(
    p_tenant integer, p_conversation bigint, p_seq integer, OUT first integer, OUT parent integer
) LANGUAGE plpgsql STABLE AS $$
BEGIN
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

CREATE FUNCTION threadkeep.entry_at(p_tenant integer, p_owner integer, p_id bytea, p_seq bigint)
RETURNS SETOF threadkeep.line LANGUAGE plpgsql STABLE AS $$
DECLARE here record;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id);
    RETURN QUERY SELECT NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
    FROM threadkeep.entry e WHERE e.tenant = p_tenant AND e.conversation = here.key AND e.seq = p_seq;
    IF NOT FOUND THEN
        RETURN NEXT threadkeep.refusal(here.key);
    END IF;
END $$;

-- Those of some entries that are there.
CREATE FUNCTION threadkeep.entries_at(p_tenant integer, p_owner integer, p_id bytea, p_seqs integer[])
RETURNS SETOF threadkeep.line LANGUAGE plpgsql STABLE AS $$
DECLARE here record;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id);
    RETURN QUERY SELECT NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
    FROM threadkeep.entry e WHERE e.tenant = p_tenant AND e.conversation = here.key AND e.seq = ANY (p_seqs);
END $$;

-- What a read of an entry that is not there answers.
CREATE FUNCTION threadkeep.refusal(p_conversation bigint) RETURNS threadkeep.line LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE line threadkeep.line;
BEGIN
    line.refused := CASE WHEN p_conversation IS NULL THEN 'conversation_not_found' ELSE 'entry_not_found' END;
    RETURN line;
END $$;

-- Entries by number, of a conversation that was found already.
CREATE FUNCTION threadkeep.entries_between(p_tenant integer, p_conversation bigint, p_first integer, p_last integer)
RETURNS SETOF threadkeep.line LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    RETURN QUERY SELECT NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
    FROM threadkeep.entry e
    WHERE e.tenant = p_tenant AND e.conversation = p_conversation AND e.seq BETWEEN p_first AND p_last ORDER BY e.seq;
END $$;

-- The newest entries of a branch, newest first: of the one that ends in `p_head` (null: the current one), or those that
-- come before the entry `p_before`.
CREATE FUNCTION threadkeep.newest(
    p_tenant integer, p_owner integer, p_id bytea, p_head bigint, p_before bigint, p_limit integer
) RETURNS SETOF threadkeep.line LANGUAGE plpgsql STABLE AS $$
DECLARE
    here record;
    asked bigint := coalesce(p_before, p_head);
    at integer;
    begins integer;
    continued integer;
    read integer;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id);
    at := here.head;
    IF asked IS NOT NULL THEN
        SELECT CASE WHEN p_before IS NULL THEN e.seq ELSE e.parent END INTO at FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = here.key AND e.seq = asked AND e.kind <= 8;
    END IF;
    IF at IS NULL THEN
        RETURN NEXT threadkeep.refusal(here.key);
        RETURN;
    END IF;
    WHILE at > 0 AND p_limit > 0 LOOP
        SELECT j.first, j.parent INTO begins, continued FROM threadkeep.jump j
        WHERE j.tenant = p_tenant AND j.conversation = here.key AND j.first <= at ORDER BY j.first DESC LIMIT 1;
        begins := coalesce(begins, 1);
        RETURN QUERY SELECT NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
        FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = here.key AND e.seq BETWEEN begins AND at AND e.kind <= 8
        ORDER BY e.seq DESC LIMIT p_limit;
        GET DIAGNOSTICS read = ROW_COUNT;
        p_limit := p_limit - read;
        at := continued;
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
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id);
    IF here.key IS NULL OR (p_head IS NOT NULL AND NOT threadkeep.is_on_branch(p_tenant, here.key, p_head)) THEN
        RETURN NEXT threadkeep.refusal(here.key);
        RETURN;
    END IF;
    SELECT * INTO path FROM threadkeep.path(p_tenant, here.key, coalesce(p_head, here.head)::integer, p_seq);
    IF p_seq <> 0 AND (
        NOT threadkeep.is_on_branch(p_tenant, here.key, p_seq)
        OR path.firsts IS NULL OR p_seq NOT BETWEEN path.firsts[1] AND path.lasts[1]
    ) THEN
        RETURN NEXT threadkeep.refusal(here.key);
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

-- The messages up to entry `p_seq`, of all branches.
CREATE FUNCTION threadkeep.messages_up_to(p_tenant integer, p_conversation bigint, p_seq integer)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((
        SELECT e.messages FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = p_conversation AND e.seq = p_seq
    ), 0);
END $$;

-- How many messages there are on the branch that ends in `p_head` (null: the current one).
CREATE FUNCTION threadkeep.count(
    p_tenant integer, p_owner integer, p_id bytea, p_head bigint, OUT refused text, OUT messages integer
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    here record;
    path record;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id);
    IF here.key IS NULL OR (p_head IS NOT NULL AND NOT threadkeep.is_on_branch(p_tenant, here.key, p_head)) THEN
        refused := (threadkeep.refusal(here.key)).refused;
        RETURN;
    END IF;
    SELECT * INTO path FROM threadkeep.path(p_tenant, here.key, coalesce(p_head, here.head)::integer, 0);
    messages := 0;
    FOR i IN 1 .. coalesce(cardinality(path.firsts), 0) LOOP
        messages := messages + threadkeep.messages_up_to(p_tenant, here.key, path.lasts[i])
                  - threadkeep.messages_up_to(p_tenant, here.key, path.firsts[i] - 1);
    END LOOP;
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
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id);
    IF here.key IS NULL OR p_seq > here.last THEN
        line.refused := CASE WHEN here.key IS NULL THEN 'conversation_not_found' ELSE 'invalid_cursor' END;
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

-- The state changes of a branch, newest first, back to one that holds everything.
CREATE FUNCTION threadkeep.state(p_tenant integer, p_owner integer, p_id bytea, p_at bigint)
RETURNS SETOF threadkeep.line LANGUAGE plpgsql STABLE AS $$
DECLARE
    here record;
    run record;
    at integer;
    line threadkeep.line;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id);
    IF here.key IS NULL OR (p_at IS NOT NULL AND NOT threadkeep.is_on_branch(p_tenant, here.key, p_at)) THEN
        RETURN NEXT threadkeep.refusal(here.key);
        RETURN;
    END IF;
    at := coalesce(p_at, here.head);
    WHILE at > 0 LOOP
        SELECT * INTO run FROM threadkeep.run(p_tenant, here.key, at);
        FOR line IN
            SELECT NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
            FROM threadkeep.entry e
            WHERE e.tenant = p_tenant AND e.conversation = here.key AND e.kind = 8 AND e.seq BETWEEN run.first AND at
            ORDER BY e.seq DESC
        LOOP
            RETURN NEXT line;
            IF (line.parts ->> 'whole')::boolean THEN
                RETURN;
            END IF;
        END LOOP;
        at := run.parent;
    END LOOP;
END $$;

-- The newest summary that remarks on an entry of the branch that ends in `p_head` (null: the current one).
CREATE FUNCTION threadkeep.summary(p_tenant integer, p_owner integer, p_id bytea, p_head bigint)
RETURNS SETOF threadkeep.line LANGUAGE plpgsql STABLE AS $$
DECLARE
    here record;
    path record;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id);
    IF here.key IS NULL OR (p_head IS NOT NULL AND NOT threadkeep.is_on_branch(p_tenant, here.key, p_head)) THEN
        RETURN NEXT threadkeep.refusal(here.key);
        RETURN;
    END IF;
    SELECT * INTO path FROM threadkeep.path(p_tenant, here.key, coalesce(p_head, here.head)::integer, 0);
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
    PERFORM threadkeep.work_for(p_tenant);
    SELECT count(*), coalesce(sum(c.last), 0), coalesce(sum(c.total), 0) INTO conversations, entries, bytes
    FROM threadkeep.conversation_now c
    WHERE c.tenant = p_tenant AND (p_owner IS NULL OR c.owner = p_owner) AND (p_id IS NULL OR c.id = p_id);
END $$;

CREATE FUNCTION threadkeep.turns(p_tenant integer, p_owner integer, p_id bytea)
RETURNS TABLE (refused text, number integer, state text, owner text, fence integer, until timestamptz)
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
    RETURN QUERY SELECT NULL, t.number, t.state, t.owner, t.fence, t.until FROM threadkeep.turn t
    WHERE t.tenant = p_tenant AND t.conversation = found_key ORDER BY t.number;
END $$;

-- The turns of a tenant that nobody sees to, where leases last `p_lease`.
CREATE FUNCTION threadkeep.expired(p_tenant integer, p_lease interval, p_limit integer)
RETURNS TABLE (
    tenant text, user_name text, conversation bytea, number integer, state text, owner text, fence integer,
    until timestamptz
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    now timestamptz := threadkeep.moment();
    latest timestamptz := now + 2 * p_lease;
BEGIN
    RETURN QUERY
    SELECT t.tenant_name, t.user_name, t.conversation_id, t.number, t.state, t.owner, t.fence, t.until
    FROM threadkeep.turn t
    WHERE t.tenant = p_tenant AND (t.state = 'running' AND (t.until < now OR t.until > latest)
       OR t.state = 'queued' AND NOT EXISTS (
           SELECT FROM threadkeep.turn o
           WHERE o.tenant = p_tenant AND o.conversation = t.conversation
             AND (o.state <> 'queued' OR o.number < t.number)
       ))
      AND NOT EXISTS (
           SELECT FROM threadkeep.removal r WHERE r.tenant = p_tenant AND r.conversation = t.conversation
       )
    ORDER BY t.until NULLS LAST LIMIT p_limit;
END $$;
