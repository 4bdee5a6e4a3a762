-- The text that a conversation began with (title, instructions, metadata) counts as kept, too.
ALTER TABLE threadkeep.conversation ADD COLUMN bytes integer NOT NULL DEFAULT 0;

CREATE OR REPLACE VIEW threadkeep.conversation_now WITH (security_invoker = true) AS
SELECT c.key, c.tenant, c.owner, c.id, c.version, c.created_at, coalesce(e.created_at, c.created_at) AS updated_at,
       c.status, c.archived, c.assistant, c.title, c.model, c.metadata, c.system,
       coalesce(e.seq, 0) AS last, coalesce(e.head, e.seq, 0) AS head, coalesce(e.newest, e.seq, 0) AS newest,
       coalesce(e.total, c.bytes) AS total, coalesce(e.messages, 0) AS messages, c.shares
FROM threadkeep.conversation c
LEFT JOIN LATERAL (
    SELECT * FROM threadkeep.entry e
    WHERE e.tenant = c.tenant AND e.conversation = c.key ORDER BY e.seq DESC LIMIT 1
) e ON true
WHERE c.id IS NOT NULL;
