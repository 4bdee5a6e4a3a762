-- Counting messages. A milestone says how many messages a log holds up to every 256th entry, of all branches, so that any part
-- of a log is counted from the entries near its two ends. One that is missing, because a server of an older release has
-- written, makes counting slower there, not wrong.
CREATE TABLE threadkeep.milestone (
    conversation bigint NOT NULL,
    tenant integer NOT NULL,
    seq integer NOT NULL,
    messages integer NOT NULL,
    PRIMARY KEY (tenant, conversation, seq)
);
ALTER TABLE threadkeep.milestone ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON threadkeep.milestone USING (tenant = threadkeep.present_tenant());

-- A part of a log that has not reached its milestone is left out; it can only be the last one.
DO $$
DECLARE here integer;
BEGIN
    FOR here IN SELECT t.key FROM threadkeep.tenant t LOOP
        PERFORM threadkeep.work_for(here);
        INSERT INTO threadkeep.milestone (tenant, conversation, seq, messages)
        SELECT here, part.conversation, (part.number + 1) * 256,
               sum(part.messages) OVER (PARTITION BY part.conversation ORDER BY part.number)
        FROM (
            SELECT e.conversation, (e.seq - 1) / 256 AS number, count(*) AS entries,
                   count(*) FILTER (WHERE e.kind < 8) AS messages
            FROM threadkeep.entry e WHERE e.tenant = here GROUP BY e.conversation, (e.seq - 1) / 256
        ) part WHERE part.entries = 256;
    END LOOP;
END $$;

-- The messages from entry `p_first` to entry `p_last`, counted one by one.
CREATE FUNCTION threadkeep.messages_between(p_tenant integer, p_conversation bigint, p_first integer, p_last integer)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT count(*) FROM threadkeep.entry e
        WHERE e.tenant = p_tenant AND e.conversation = p_conversation AND e.seq BETWEEN p_first AND p_last AND e.kind < 8
    );
END $$;

-- The messages up to entry `p_seq`: what the milestone before it says, and what follows that.
CREATE FUNCTION threadkeep.messages_up_to(p_tenant integer, p_conversation bigint, p_seq integer)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    passed integer;
    counted integer;
BEGIN
    SELECT m.seq, m.messages INTO passed, counted FROM threadkeep.milestone m
    WHERE m.tenant = p_tenant AND m.conversation = p_conversation AND m.seq <= p_seq ORDER BY m.seq DESC LIMIT 1;
    RETURN coalesce(counted, 0)
         + threadkeep.messages_between(p_tenant, p_conversation, coalesce(passed, 0) + 1, p_seq);
END $$;

-- As in 0003, and it sets the milestones that it passes.
CREATE OR REPLACE FUNCTION threadkeep.put(
    here threadkeep.place, p_bodies threadkeep.body[], p_parent integer, p_turn integer, p_now timestamptz
) RETURNS threadkeep.place LANGUAGE plpgsql AS $$
DECLARE
    body threadkeep.body;
    at integer := p_parent;
    before integer := here.last;
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
    FOR passed IN before / 256 + 1 .. here.last / 256 LOOP
        INSERT INTO threadkeep.milestone (tenant, conversation, seq, messages) VALUES (
            here.tenant, here.conversation, passed * 256,
            threadkeep.messages_up_to(here.tenant, here.conversation, passed * 256)
        );
    END LOOP;
    IF NOT here.is_behind THEN
        INSERT INTO threadkeep.behind (tenant, owner, conversation)
        VALUES (here.tenant, here.owner, here.conversation);
        here.is_behind := true;
    END IF;
    RETURN here;
END $$;

-- How many messages follow `p_after` (0: the root) on the branch that ends in `p_head` (null: the current one).
CREATE FUNCTION threadkeep.count(
    p_tenant integer, p_owner integer, p_id bytea, p_head bigint, p_after bigint, OUT refused text, OUT messages integer
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    here record;
    path record;
    first integer;
BEGIN
    SELECT * INTO here FROM threadkeep.find(p_tenant, p_owner, p_id);
    IF here.key IS NULL OR (p_head IS NOT NULL AND NOT threadkeep.is_on_branch(p_tenant, here.key, p_head)) THEN
        refused := (threadkeep.refusal(here.key)).refused;
        RETURN;
    END IF;
    SELECT * INTO path FROM threadkeep.path(p_tenant, here.key, coalesce(p_head, here.head)::integer, p_after);
    IF p_after <> 0 AND (
        NOT threadkeep.is_on_branch(p_tenant, here.key, p_after)
        OR path.firsts IS NULL OR p_after NOT BETWEEN path.firsts[1] AND path.lasts[1]
    ) THEN
        refused := (threadkeep.refusal(here.key)).refused;
        RETURN;
    END IF;
    messages := 0;
    FOR i IN 1 .. coalesce(cardinality(path.firsts), 0) LOOP
        first := greatest(path.firsts[i], p_after + 1);
        IF path.lasts[i] - first < 256 THEN
            messages := messages + threadkeep.messages_between(p_tenant, here.key, first, path.lasts[i]);
        ELSE
            messages := messages + threadkeep.messages_up_to(p_tenant, here.key, path.lasts[i])
                      - threadkeep.messages_up_to(p_tenant, here.key, first - 1);
        END IF;
    END LOOP;
END $$;

-- As in 0012, with the milestones.
CREATE OR REPLACE FUNCTION threadkeep.purge(
    p_tenant integer, p_conversation bigint, p_first integer, p_next integer, OUT is_left boolean, OUT is_removed boolean
) LANGUAGE plpgsql AS $$
DECLARE last integer;
BEGIN
    PERFORM threadkeep.work_for(p_tenant);
    SELECT e.seq INTO last FROM threadkeep.entry e
    WHERE e.tenant = p_tenant AND e.conversation = p_conversation ORDER BY e.seq DESC LIMIT 1;
    DELETE FROM threadkeep.key k
    WHERE k.tenant = p_tenant AND k.conversation = p_conversation AND k.first >= p_first AND k.first < p_next;
    DELETE FROM threadkeep.jump j
    WHERE j.tenant = p_tenant AND j.conversation = p_conversation AND j.first >= p_first AND j.first < p_next;
    DELETE FROM threadkeep.milestone m
    WHERE m.tenant = p_tenant AND m.conversation = p_conversation AND m.seq >= p_first AND m.seq < p_next;
    DELETE FROM threadkeep.entry e
    WHERE e.tenant = p_tenant AND e.conversation = p_conversation AND e.seq >= p_first AND e.seq < p_next;
    is_left := threadkeep.forget_words(p_tenant, p_conversation, p_next - p_first) OR coalesce(last >= p_next, false);
    is_removed := false;
    IF NOT is_left THEN
        DELETE FROM threadkeep.turn t WHERE t.tenant = p_tenant AND t.conversation = p_conversation;
        DELETE FROM threadkeep.chunk c WHERE c.tenant = p_tenant AND c.conversation = p_conversation;
        DELETE FROM threadkeep.conversation c WHERE c.tenant = p_tenant AND c.key = p_conversation;
        DELETE FROM threadkeep.removal r WHERE r.tenant = p_tenant AND r.conversation = p_conversation;
        is_removed := FOUND;
    END IF;
END $$;

REVOKE ALL ON FUNCTION threadkeep.messages_between, threadkeep.messages_up_to, threadkeep.count FROM PUBLIC;
GRANT EXECUTE ON FUNCTION threadkeep.messages_between, threadkeep.messages_up_to, threadkeep.count TO threadkeep_server;
GRANT SELECT, INSERT, DELETE ON threadkeep.milestone TO threadkeep_server;
