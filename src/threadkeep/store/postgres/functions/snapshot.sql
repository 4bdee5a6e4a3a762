-- One read of a conversation, in one call: see store/snapshot.py.

-- The newest entries of the branch that ends in `p_at`, newest first, until there are so many messages, entries or bytes.
CREATE FUNCTION threadkeep.newest_messages(
    p_tenant integer, p_conversation bigint, p_at integer, p_messages integer, p_entries integer, p_bytes bigint
) RETURNS SETOF threadkeep.line LANGUAGE plpgsql STABLE AS $$
DECLARE
    run record;
    line threadkeep.line;
BEGIN
    WHILE p_at > 0 AND p_messages > 0 LOOP
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

-- `page` comes newest first, `later` (what follows `p_around`) oldest first; `feedback` is about what lies between the ends of
-- both; `states` are the state changes of the branch.
CREATE FUNCTION threadkeep.snapshot(
    p_tenant integer, p_owner integer, p_id bytea, p_head bigint, p_before bigint, p_around bigint,
    p_messages integer, p_entries integer, p_bytes bigint, p_remarks integer,
    OUT refused text, OUT now threadkeep.conversation_now, OUT branch integer, OUT jumps integer[],
    OUT page threadkeep.line[], OUT later threadkeep.line[], OUT feedback threadkeep.line[], OUT states threadkeep.line[], OUT remarks threadkeep.line[],
    OUT draft threadkeep.line[], OUT turns threadkeep.turn[]
) LANGUAGE plpgsql STABLE AS $$
DECLARE at integer;
BEGIN
    SELECT * INTO now FROM threadkeep.get(p_tenant, p_owner, p_id);
    IF NOT FOUND THEN
        refused := 'conversation_not_found';
        RETURN;
    END IF;
    IF p_head IS NULL OR threadkeep.is_on_branch(p_tenant, now.key, p_head) THEN
        branch := coalesce(p_head, now.head);
    END IF;
    at := branch;
    IF p_before IS NOT NULL THEN
        SELECT e.parent INTO at FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = now.key AND e.seq = p_before AND e.kind <= 8;
    END IF;
    IF at IS NULL OR branch IS NULL THEN
        refused := 'entry_not_found';
        RETURN;
    END IF;
    jumps := threadkeep.jumps(p_tenant, now.key);
    IF p_around IS NULL THEN
        page := ARRAY(SELECT l FROM threadkeep.newest_messages(
            p_tenant, now.key, at, p_messages, p_entries, p_bytes
        ) l);
    ELSE
        page := ARRAY(SELECT l FROM threadkeep.newest(p_tenant, p_owner, p_id, p_around, NULL, p_messages - p_messages / 2) l);
        later := ARRAY(SELECT l FROM threadkeep.after(p_tenant, p_owner, p_id, p_around, branch, p_messages / 2) l);
        refused := coalesce((page[1]).refused, (later[1]).refused);
    END IF;
    feedback := ARRAY(
        SELECT ROW(NULL::text, e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts)::threadkeep.line
        FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = now.key AND e.kind = 14
          AND e.parent BETWEEN (page[cardinality(page)]).seq AND coalesce((later[cardinality(later)]).seq, (page[1]).seq)
        ORDER BY e.seq
    );
    IF branch > 0 THEN
        states := ARRAY(SELECT l FROM threadkeep.state(p_tenant, p_owner, p_id, branch) l);
        remarks := ARRAY(
            SELECT l FROM threadkeep.log(p_tenant, p_owner, p_id, branch - 1, NULL, 0, p_remarks) l WHERE l.kind >= 0
        );
    END IF;
    draft := ARRAY(SELECT l FROM threadkeep.log(p_tenant, p_owner, p_id, now.last, NULL, 0, 1) l);
    turns := ARRAY(
        SELECT t FROM threadkeep.turn t WHERE t.tenant = p_tenant AND t.conversation = now.key ORDER BY t.number
    );
END $$;
