-- Messages of one conversation that have to do with some words: for each word the newest that hold it are considered, and a
-- word that few of them hold says more than one that many do (the same weights as in store/words.py).

-- Where the newest messages before an entry are that hold a word. Runs as the owner, like `candidates`, and for the same reason.
CREATE FUNCTION threadkeep.holding(
    p_tenant integer, p_owner integer, p_conversation bigint, p_word tsquery, p_before integer, p_limit integer
) RETURNS TABLE (seq integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY SELECT w.seq FROM threadkeep.word w
    WHERE array_to_tsvector(string_to_array(w.words, ' ')) @@ (
        p_word && quote_literal('¤u' || p_owner)::tsquery && quote_literal('¤c' || p_conversation)::tsquery
    ) AND w.tenant = p_tenant AND w.tenant = threadkeep.present_tenant() AND w.conversation = p_conversation
      AND w.seq < p_before
    ORDER BY w.seq DESC LIMIT p_limit;
END $$;

CREATE FUNCTION threadkeep.related(
    p_tenant integer, p_owner integer, p_id bytea, p_words text[], p_before integer,
    p_each integer, p_limit integer, p_caught_up boolean
) RETURNS TABLE (
    refused text, seq integer, parent integer, kind smallint, turn integer, created_at timestamptz,
    id bytea, tokens integer, content bytea, parts jsonb
) LANGUAGE plpgsql STABLE AS $$
DECLARE here bigint;
BEGIN
    PERFORM set_config('threadkeep.tenant', p_tenant::text, true);
    SELECT c.key INTO here FROM threadkeep.conversation c
    WHERE c.tenant = p_tenant AND c.id = p_id AND c.owner = p_owner;
    IF here IS NULL THEN
        refused := 'conversation_not_found';
    ELSIF NOT p_caught_up AND threadkeep.is_behind(p_tenant, p_owner) THEN
        refused := 'behind';
    END IF;
    IF refused IS NOT NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;
    RETURN QUERY
    WITH hit AS (
        SELECT k.seq, count(*) OVER (PARTITION BY said.word) AS often
        FROM unnest(p_words) said (word),
             LATERAL threadkeep.holding(p_tenant, p_owner, here, said.word::tsquery, p_before, p_each) k
    ), best AS (
        SELECT hit.seq, sum(ln(1 + p_each::float8 / hit.often)) AS score
        FROM hit GROUP BY hit.seq ORDER BY score DESC, hit.seq DESC LIMIT p_limit
    )
    SELECT NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
    FROM best JOIN threadkeep.entry e ON e.tenant = p_tenant AND e.conversation = here AND e.seq = best.seq
    ORDER BY best.score DESC, best.seq DESC;
END $$;

REVOKE ALL ON FUNCTION threadkeep.holding, threadkeep.related FROM PUBLIC;
GRANT EXECUTE ON FUNCTION threadkeep.holding, threadkeep.related TO threadkeep_server;
