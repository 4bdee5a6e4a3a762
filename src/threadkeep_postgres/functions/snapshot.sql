-- One read of a conversation, in one call: see store/values.py. `page` comes newest first, `later` (what follows `p_around`)
-- oldest first; `feedback` is about what lies between the ends of both; `states` are the state changes of the branch, newest
-- first, back to one that holds everything.
CREATE FUNCTION threadkeep.snapshot(
    p_tenant integer, p_owner integer, p_id bytea, p_head bigint, p_before bigint, p_around bigint,
    p_messages integer, p_entries integer, p_bytes bigint, p_remarks integer,
    OUT refused text, OUT id bytea, OUT version integer, OUT created_at timestamptz, OUT updated_at timestamptz, OUT facts jsonb,
    OUT large jsonb, OUT last integer, OUT head integer, OUT newest integer, OUT branch integer, OUT jumps integer[],
    OUT page threadkeep.line[], OUT later threadkeep.line[], OUT feedback threadkeep.line[], OUT states threadkeep.line[],
    OUT remarks threadkeep.line[], OUT draft threadkeep.line[], OUT turns threadkeep.turn[]
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    here record;
    run record;
    line threadkeep.line;
    at integer;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id, p_head);
    refused := here.refused;
    branch := here.at;
    at := branch;
    IF refused IS NULL AND p_before IS NOT NULL THEN
        SELECT f.refused, f.parent INTO refused, at FROM threadkeep.find(p_tenant, p_owner, p_id, p_before) f;
    END IF;
    IF refused IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT n.id, n.version, n.created_at, n.updated_at, n.facts, n.large, n.last, n.head, n.newest
    INTO id, version, created_at, updated_at, facts, large, last, head, newest FROM threadkeep.now(p_tenant, ARRAY[here.key]) n;
    jumps := threadkeep.jumps(p_tenant, here.key);
    IF p_around IS NULL THEN
        page := ARRAY(SELECT l FROM threadkeep.newest_messages(
            p_tenant, here.key, at, p_messages, p_entries, p_bytes
        ) l);
    ELSE
        page := ARRAY(SELECT l FROM threadkeep.newest(p_tenant, p_owner, p_id, p_around, NULL, p_messages - p_messages / 2) l);
        later := ARRAY(SELECT l FROM threadkeep.after(p_tenant, p_owner, p_id, p_around, branch, p_messages / 2) l);
        refused := coalesce((page[1]).refused, (later[1]).refused);
    END IF;
    feedback := ARRAY(
        SELECT ROW(NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts)::threadkeep.line
        FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = here.key AND e.kind = 14
          AND e.parent BETWEEN (page[cardinality(page)]).seq AND coalesce((later[cardinality(later)]).seq, (page[1]).seq)
        ORDER BY e.seq
    );
    at := branch;
    WHILE at > 0 LOOP
        SELECT * INTO run FROM threadkeep.run(p_tenant, here.key, at);
        at := run.parent;
        FOR line IN
            SELECT NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
            FROM threadkeep.entry e
            WHERE e.tenant = p_tenant AND e.conversation = here.key AND e.kind = 8 AND e.seq BETWEEN run.first AND run.last
            ORDER BY e.seq DESC
        LOOP
            states := states || line;
            IF (line.parts ->> 'whole')::boolean THEN
                at := 0;
                EXIT;
            END IF;
        END LOOP;
    END LOOP;
    IF branch > 0 THEN
        remarks := ARRAY(
            SELECT l FROM threadkeep.log(p_tenant, p_owner, p_id, branch - 1, NULL, 0, p_remarks) l WHERE l.kind >= 0
        );
    END IF;
    draft := ARRAY(SELECT l FROM threadkeep.log(p_tenant, p_owner, p_id, last, NULL, 0, 1) l);
    turns := ARRAY(
        SELECT t FROM threadkeep.turn t WHERE t.tenant = p_tenant AND t.conversation = here.key ORDER BY t.number
    );
END $$;
