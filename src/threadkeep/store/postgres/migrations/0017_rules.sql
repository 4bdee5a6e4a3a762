-- What may be written is decided in Python now. Functions are no part of migrations any more: they stand in ../functions and
-- are made anew whenever one of them changes.
DROP VIEW threadkeep.conversation_now;
DROP TYPE IF EXISTS threadkeep.body, threadkeep.place;

-- Messages are counted by a number that is kept with each entry: how many the log holds up to it, of all branches.
DROP TABLE IF EXISTS threadkeep.milestone;
ALTER TABLE threadkeep.entry ADD COLUMN messages integer;
DO $$
DECLARE here integer;
BEGIN
    FOR here IN SELECT t.key FROM threadkeep.tenant t LOOP
        PERFORM set_config('threadkeep.tenant', here::text, true);
        UPDATE threadkeep.entry e SET messages = counted.messages FROM (
            SELECT o.conversation, o.seq,
                   count(*) FILTER (WHERE o.kind < 8) OVER (PARTITION BY o.conversation ORDER BY o.seq) AS messages
            FROM threadkeep.entry o WHERE o.tenant = here
        ) counted
        WHERE e.tenant = here AND e.conversation = counted.conversation AND e.seq = counted.seq;
    END LOOP;
END $$;
ALTER TABLE threadkeep.entry ALTER COLUMN messages SET NOT NULL;

-- A change of a conversation as a whole; null is left as it is.
CREATE TYPE threadkeep.change AS (
    conversation bigint, version integer, title text, metadata jsonb, status text, archived boolean, model text
);

-- A conversation as it is now: the end of its log is what its last entry tells.
CREATE VIEW threadkeep.conversation_now WITH (security_invoker = true) AS
SELECT c.key, c.tenant, c.owner, c.id, c.version, c.created_at, coalesce(e.created_at, c.created_at) AS updated_at,
       c.status, c.archived, c.assistant, c.title, c.model, c.metadata, c.system,
       coalesce(e.seq, 0) AS last, coalesce(e.head, e.seq, 0) AS head, coalesce(e.newest, e.seq, 0) AS newest,
       coalesce(e.total, 0) AS total, coalesce(e.messages, 0) AS messages
FROM threadkeep.conversation c
LEFT JOIN LATERAL (
    SELECT * FROM threadkeep.entry e
    WHERE e.tenant = c.tenant AND e.conversation = c.key ORDER BY e.seq DESC LIMIT 1
) e ON true
WHERE c.id IS NOT NULL;
GRANT SELECT ON threadkeep.conversation_now TO threadkeep_server;
