-- Words for search follow the log: appends only note that a conversation is behind, and the words of its messages are
-- indexed in batches, by whoever comes first, and always before a search of that user.

-- Messages that are not indexed yet, of one user or of a whole tenant (null): conversation by conversation, oldest entry first, up to
-- `p_limit` entries and about `p_bytes` bytes of each. Remarks come without content: they tell how far the log was read.
-- `indexed` and `last` say how far the conversation was indexed and how far its log goes. One that has nothing left comes
-- as one line without a `seq`.
CREATE FUNCTION threadkeep.unindexed(p_tenant integer, p_owner integer, p_limit integer, p_bytes bigint)
RETURNS TABLE (
    owner integer, conversation bigint, indexed integer,
    last integer, seq integer, kind smallint, content bytea, parts jsonb, created_at timestamptz
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    least_owner integer := coalesce(p_owner, 0);
    most_owner integer := coalesce(p_owner, 2147483647);
    late record;
    here record;
    read integer;
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    FOR late IN
        SELECT b.owner, b.conversation FROM threadkeep.behind b
        WHERE b.tenant = p_tenant AND b.owner BETWEEN least_owner AND most_owner
        ORDER BY b.owner, b.conversation LIMIT p_limit
    LOOP
        SELECT c.indexed, coalesce(e.total, 0) AS total, coalesce((
            SELECT max(n.seq) FROM threadkeep.entry n WHERE n.tenant = p_tenant AND n.conversation = late.conversation
        ), 0) AS last INTO here FROM threadkeep.conversation c
        LEFT JOIN threadkeep.entry e ON e.tenant = c.tenant AND e.conversation = c.key AND e.seq = c.indexed
        WHERE c.tenant = p_tenant AND c.key = late.conversation;
        CONTINUE WHEN NOT FOUND;
        RETURN QUERY
        SELECT late.owner, late.conversation, here.indexed, here.last, e.seq, e.kind,
               CASE WHEN e.kind < 8 THEN e.content END, CASE WHEN e.kind < 8 THEN e.parts END, e.created_at
        FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = late.conversation AND e.seq > here.indexed
          AND (e.total <= here.total + p_bytes OR e.seq = here.indexed + 1)
        ORDER BY e.seq LIMIT p_limit;
        GET DIAGNOSTICS read = ROW_COUNT;
        IF read = 0 THEN
            RETURN QUERY SELECT late.owner, late.conversation, here.indexed, here.last,
                                NULL::integer, NULL::smallint, NULL::bytea, NULL::jsonb, NULL::timestamptz;
        END IF;
        p_limit := p_limit - greatest(read, 1);
        EXIT WHEN p_limit <= 0;
    END LOOP;
END $$;

-- Index the words of conversations of a tenant in one commit, each up to the entry that `p_upto` says. Each element of `p_words` has
-- the words, with spaces between them, of the entry that `p_of` and `p_seqs` say; those that another has indexed since they were
-- read are left out, as is what they used (`p_used`), which is counted here, too, so that it counts once. What was deleted is left alone. Conversations come in one order, so that two who index never wait for each other.
CREATE FUNCTION threadkeep.catch_up(
    p_tenant integer, p_owners integer[], p_conversations bigint[],
    p_upto integer[], p_of bigint[], p_seqs integer[], p_words text[],
    p_used threadkeep.used[], p_most integer
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    here bigint;
    done integer;
    upto integer;
    newest timestamptz;
    said record;
    counted threadkeep.used[] := ARRAY(SELECT u FROM unnest(p_used) u WHERE u.conversation IS NULL);
    more record;
    indexed_at bigint := extract(epoch FROM clock_timestamp()) * 1000000;
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    FOR i IN 1 .. cardinality(p_conversations) LOOP
        here := p_conversations[i];
        upto := p_upto[i];
        -- The row is held, so that nobody can delete the conversation in between, or index the same entries.
        SELECT c.indexed INTO done FROM threadkeep.conversation c
        WHERE c.tenant = p_tenant AND c.key = here AND c.id IS NOT NULL FOR NO KEY UPDATE;
        CONTINUE WHEN NOT FOUND;
        FOR said IN
            SELECT e.seq, e.created_at, concat(s.words, ' ¤u', p_owners[i], ' ¤c', here) AS words
            FROM unnest(p_of, p_seqs, p_words) s (conversation, seq, words)
            JOIN threadkeep.entry e ON e.tenant = p_tenant AND e.conversation = here AND e.seq = s.seq
            WHERE s.conversation = here AND e.seq > done ORDER BY e.seq
        LOOP
            INSERT INTO threadkeep.word (tenant, conversation, seq, created_at, position, words)
            VALUES (p_tenant, here, said.seq, said.created_at, indexed_at, said.words);
        END LOOP;
        counted := counted || ARRAY(
            SELECT u FROM unnest(p_used) u WHERE u.conversation = here AND u.seq > done AND u.seq <= upto
        );
        SELECT e.created_at INTO newest FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = here AND e.seq = upto;
        IF FOUND THEN
            UPDATE threadkeep.conversation c SET indexed = upto, updated_at = newest
            WHERE c.tenant = p_tenant AND c.key = here AND c.indexed < upto;
        END IF;
    END LOOP;
    -- At the end, and in one order: who holds a sum waits for nothing else. The rest of more models than `p_most` has no name.
    FOR more IN
        SELECT w.owner, u.day, u.model, u.currency, sum(u.answers) AS answers, sum(u.input_tokens) AS input_tokens,
               sum(u.output_tokens) AS output_tokens, sum(u.cached_tokens) AS cached_tokens, sum(u.cost) AS cost
        FROM unnest(counted) u CROSS JOIN LATERAL (VALUES (0), (u.owner)) w (owner)
        GROUP BY w.owner, u.day, u.model, u.currency ORDER BY w.owner, u.day, u.model, u.currency
    LOOP
        IF NOT EXISTS (
            SELECT FROM threadkeep.usage g WHERE g.tenant = p_tenant AND g.owner = more.owner AND g.day = more.day
              AND g.model = more.model AND g.currency = more.currency
        ) AND p_most <= (
            SELECT count(*) FROM threadkeep.usage g
            WHERE g.tenant = p_tenant AND g.owner = more.owner AND g.day = more.day
        ) THEN
            more.model := '';
            more.currency := '';
            more.cost := 0;
        END IF;
        INSERT INTO threadkeep.usage AS g (
            tenant, owner, day, model, currency, answers, input_tokens, output_tokens, cached_tokens, cost
        ) VALUES (
            p_tenant, more.owner, more.day, more.model, more.currency, more.answers, more.input_tokens,
            more.output_tokens, more.cached_tokens, more.cost
        ) ON CONFLICT (tenant, owner, day, model, currency) DO UPDATE SET
            answers = g.answers + excluded.answers, input_tokens = g.input_tokens + excluded.input_tokens,
            output_tokens = g.output_tokens + excluded.output_tokens,
            cached_tokens = g.cached_tokens + excluded.cached_tokens, cost = g.cost + excluded.cost;
    END LOOP;
END $$;

-- Take off the list of those behind what is indexed to its end. Only while nobody writes to a conversation is it certain
-- that there is no more; otherwise the next round will see. By itself, because writers wait for it.
CREATE FUNCTION threadkeep.caught_up(p_tenant integer, p_owners integer[], p_conversations bigint[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    FOR i IN 1 .. cardinality(p_conversations) LOOP
        PERFORM FROM threadkeep.behind b
        WHERE b.tenant = p_tenant AND b.owner = p_owners[i] AND b.conversation = p_conversations[i]
        FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        CONTINUE WHEN EXISTS (
            SELECT FROM threadkeep.conversation c
            JOIN threadkeep.entry e ON e.tenant = c.tenant AND e.conversation = c.key AND e.seq > c.indexed
            WHERE c.tenant = p_tenant AND c.key = p_conversations[i]
        );
        DELETE FROM threadkeep.behind b
        WHERE b.tenant = p_tenant AND b.owner = p_owners[i] AND b.conversation = p_conversations[i];
    END LOOP;
END $$;

-- Where the newest messages of a user (in one conversation, or null) are that hold the words, newest first. Runs as the
-- owner, free of row-level security (see schema.sql), and therefore asks for tenant and user itself. No table under a policy may
-- be joined here: its condition on the tenant would spread to `word`, and the index could not be used.
CREATE FUNCTION threadkeep.candidates(
    p_tenant integer, p_owner integer, p_conversation bigint, p_query tsquery,
    p_since timestamptz, p_until timestamptz, p_bound bigint, p_limit integer
) RETURNS TABLE (conversation bigint, seq integer, "position" bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    hidden bigint[] := ARRAY(SELECT r.conversation FROM threadkeep.removal r WHERE r.tenant = p_tenant);
    people text := left(p_owner::text, -2) || ':';
BEGIN
    p_query := p_query && quote_literal(people || '¤u' || p_owner)::tsquery;
    IF p_conversation IS NOT NULL THEN
        p_query := p_query && quote_literal(people || '¤c' || p_conversation)::tsquery;
    END IF;
    RETURN QUERY SELECT w.conversation, w.seq, w.position FROM threadkeep.word w
    WHERE array_to_tsvector(string_to_array(substr(
        replace(' ' || w.words, ' ', ' ' || left(split_part(split_part(w.words, ' ¤u', 2), ' ', 1), -2) || ':'), 2
    ), ' ')) @@ p_query AND (p_bound IS NULL OR w.position <= p_bound)
      AND (p_since IS NULL OR w.created_at >= p_since) AND (p_until IS NULL OR w.created_at < p_until)
      AND w.tenant = p_tenant AND w.tenant = threadkeep.present_tenant() AND w.conversation <> ALL (hidden)
    ORDER BY w.created_at DESC, w.conversation DESC, w.seq DESC LIMIT p_limit;
END $$;

-- Remove words of a conversation, at most so many messages' at once; return whether any were left to remove.
CREATE FUNCTION threadkeep.forget_words(p_tenant integer, p_conversation bigint, p_limit integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    people text;
    gone tid[];
BEGIN
    SELECT left(c.owner::text, -2) || ':' INTO people FROM threadkeep.conversation c
    WHERE c.tenant = p_tenant AND c.key = p_conversation;
    gone := ARRAY(
        SELECT w.ctid FROM threadkeep.word w
        WHERE array_to_tsvector(string_to_array(substr(
            replace(' ' || w.words, ' ', ' ' || left(split_part(split_part(w.words, ' ¤u', 2), ' ', 1), -2) || ':'), 2
        ), ' ')) @@ quote_literal(people || '¤c' || p_conversation)::tsquery
          AND w.tenant = p_tenant AND w.tenant = threadkeep.present_tenant() AND w.conversation = p_conversation
        LIMIT p_limit
    );
    DELETE FROM threadkeep.word w WHERE w.tenant = p_tenant AND w.conversation = p_conversation AND w.ctid = ANY (gone);
    RETURN FOUND;
END $$;

-- Whether a filter of lists, an object, lets a conversation through: those that stand `first` or the others, what the facts must
-- hold (`present`) and which names not (`absent`), whether there are links (`shared`), which values the `metadata` must have (a text, a
-- whole number or true and false are compared as text), the `words` of a title, and beginnings (`prefixes`) of some.
CREATE FUNCTION threadkeep.is_listed(
    p_tenant integer, p_key bigint, p_is_first boolean, p_facts jsonb, p_large jsonb, p_where jsonb
) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(p_is_first = (p_where ->> 'first')::boolean, true)
        AND coalesce(p_facts @> (p_where -> 'present'), true)
        AND NOT coalesce(p_facts ?| ARRAY(SELECT jsonb_array_elements_text(p_where -> 'absent')), false)
        AND coalesce(coalesce(p_large ? 'shares', false) = (p_where ->> 'shared')::boolean, true)
        AND NOT EXISTS (
            SELECT FROM jsonb_each_text(p_where -> 'metadata') w WHERE NOT coalesce(
                p_large -> 'metadata' ->> w.key = w.value AND CASE jsonb_typeof(p_large -> 'metadata' -> w.key)
                    WHEN 'number' THEN w.value ~ '^-?[0-9]+$'
                    ELSE jsonb_typeof(p_large -> 'metadata' -> w.key) IN ('string', 'boolean')
                END, false
            )
        ) AND NOT EXISTS (
            SELECT FROM jsonb_array_elements_text(p_where -> 'words') w (word) WHERE NOT EXISTS (
                SELECT FROM threadkeep.title_word t
                WHERE t.tenant = p_tenant AND t.conversation = p_key AND t.word = w.word
            )
        ) AND NOT EXISTS (
            SELECT FROM jsonb_array_elements_text(p_where -> 'prefixes') w (word) WHERE NOT EXISTS (
                SELECT FROM threadkeep.title_word t
                WHERE t.tenant = p_tenant AND t.conversation = p_key AND t.word >= w.word AND t.word < w.word || chr(1114111)
            )
        );
END $$;

-- Conversations whose titles hold words and beginnings of words (of `p_where`; there may be none of them), among the newest so many
-- that may: the last created first.
CREATE FUNCTION threadkeep.search_titles(
    p_tenant integer, p_owner integer, p_where jsonb, p_since timestamptz, p_until timestamptz, p_scanned integer, p_limit integer
) RETURNS TABLE (id bytea, facts jsonb, created_at timestamptz) LANGUAGE plpgsql STABLE AS $$
DECLARE
    begun text := coalesce(p_where -> 'words' ->> 0, p_where -> 'prefixes' ->> 0);
    beyond text := begun || CASE WHEN p_where -> 'words' ->> 0 IS NULL THEN chr(1114111) ELSE chr(1) END;
    keys bigint[];
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    IF begun IS NOT NULL THEN
        keys := ARRAY(
            SELECT t.conversation FROM threadkeep.title_word t
            WHERE t.tenant = p_tenant AND t.owner = p_owner AND t.word >= begun AND t.word < beyond
            ORDER BY t.word DESC, t.created_at DESC, t.conversation DESC LIMIT p_scanned
        );
    ELSE
        keys := ARRAY(
            SELECT c.key FROM threadkeep.conversation c
            WHERE c.tenant = p_tenant AND c.owner = p_owner AND c.id IS NOT NULL
            ORDER BY c.updated_at DESC, c.key DESC LIMIT p_scanned
        );
    END IF;
    RETURN QUERY SELECT c.id, c.facts, c.created_at FROM threadkeep.conversation c
    WHERE c.tenant = p_tenant AND c.key = ANY (keys) AND c.id IS NOT NULL
      AND (p_since IS NULL OR c.created_at >= p_since) AND (p_until IS NULL OR c.created_at < p_until)
      AND threadkeep.is_listed(p_tenant, c.key, c.is_first, c.facts, c.large, p_where)
    ORDER BY c.created_at DESC, c.key DESC LIMIT p_limit;
END $$;

-- Messages that hold the words, newest first. Refused as `behind` if the user has messages that are not indexed, unless
-- the caller has just indexed them. The tree comes with the first message of each conversation. Filters look at the newest
-- `p_scanned` that hold the words: the kinds of a role, assistant, status and title of the conversation.
CREATE FUNCTION threadkeep.search(
    p_tenant integer, p_owner integer, p_id bytea, p_query text, p_first_kind integer, p_last_kind integer,
    p_where jsonb, p_since timestamptz, p_until timestamptz, p_bound bigint, p_scanned integer, p_limit integer,
    p_caught_up boolean
) RETURNS TABLE (
    refused text, bound bigint, conversation bytea, facts jsonb, begun_at timestamptz,
    head integer, newest integer, jumps integer[],
    seq integer, parent integer, kind smallint, turn integer, created_at timestamptz,
    id bytea, tokens integer, content bytea, parts jsonb
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    narrowed bigint;
    -- What is indexed later lies beyond it.
    indexed_by_now bigint := extract(epoch FROM clock_timestamp()) * 1000000;
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    SELECT c.key INTO narrowed FROM threadkeep.conversation c
    WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner;
    IF p_id IS NOT NULL AND narrowed IS NULL THEN
        refused := 'conversation_not_found';
    ELSIF NOT p_caught_up AND EXISTS (
        SELECT FROM threadkeep.behind b WHERE b.tenant = p_tenant AND b.owner = p_owner
    ) THEN
        refused := 'behind';
    END IF;
    IF refused IS NOT NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;
    RETURN QUERY
    WITH k AS MATERIALIZED (
        SELECT f.conversation, f.seq, f.position, f.place
        FROM threadkeep.candidates(p_tenant, p_owner, narrowed, p_query::tsquery, p_since, p_until, p_bound, p_scanned)
            WITH ORDINALITY f (conversation, seq, position, place)
        JOIN threadkeep.conversation c ON c.tenant = p_tenant AND c.key = f.conversation
        JOIN threadkeep.entry e ON e.tenant = p_tenant AND e.conversation = f.conversation AND e.seq = f.seq
        WHERE e.kind BETWEEN p_first_kind AND p_last_kind
          AND (p_where IS NULL OR threadkeep.is_listed(p_tenant, c.key, c.is_first, c.facts, c.large, p_where))
        ORDER BY f.place LIMIT p_limit
    )
    -- The clock may have been set back since.
    SELECT NULL::text, coalesce(p_bound, greatest(indexed_by_now, max(k.position) OVER ())), n.id, n.facts, n.created_at,
           n.head, n.newest,
           CASE WHEN row_number() OVER (PARTITION BY n.key ORDER BY k.place) = 1 THEN threadkeep.jumps(p_tenant, n.key) END,
           e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
    FROM k JOIN threadkeep.now(p_tenant, ARRAY(SELECT k.conversation FROM k)) n ON n.key = k.conversation
    JOIN threadkeep.entry e ON e.tenant = p_tenant AND e.conversation = k.conversation AND e.seq = k.seq
    ORDER BY k.place;
END $$;

-- For each of several words and marks, in order, where the newest messages before an entry are that hold one of its forms. What has to do with
-- what is decided in Python, for every backend. Runs as the owner, like `candidates`, and for the same reason.
CREATE FUNCTION threadkeep.holding(
    p_tenant integer, p_owner integer, p_id bytea, p_words text[], p_before integer, p_each integer, p_marked integer,
    p_caught_up boolean
) RETURNS TABLE (refused text, seqs integer[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    here bigint;
    people text := left(p_owner::text, -2) || ':';
    word text;
    query tsquery;
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    SELECT c.key INTO here FROM threadkeep.conversation c
    WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner;
    IF here IS NULL THEN
        refused := 'conversation_not_found';
    ELSIF NOT p_caught_up AND EXISTS (
        SELECT FROM threadkeep.behind b WHERE b.tenant = p_tenant AND b.owner = p_owner
    ) THEN
        refused := 'behind';
    END IF;
    IF refused IS NOT NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;
    FOREACH word IN ARRAY p_words LOOP
        query := word::tsquery && quote_literal(people || '¤u' || p_owner)::tsquery
            && quote_literal(people || '¤c' || here)::tsquery;
        seqs := ARRAY(
            SELECT w.seq FROM threadkeep.word w
            WHERE array_to_tsvector(string_to_array(substr(
                replace(' ' || w.words, ' ', ' ' || left(split_part(split_part(w.words, ' ¤u', 2), ' ', 1), -2) || ':'), 2
            ), ' ')) @@ query
              AND w.tenant = p_tenant AND w.tenant = threadkeep.present_tenant() AND w.conversation = here AND w.seq < p_before
            ORDER BY w.seq DESC LIMIT CASE WHEN word LIKE '%:¤¤%' THEN p_marked ELSE p_each END
        );
        RETURN NEXT;
    END LOOP;
END $$;

