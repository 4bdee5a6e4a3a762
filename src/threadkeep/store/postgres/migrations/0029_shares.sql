-- The links that show a branch of a conversation to whoever has one, as JSON; none: null. See conversation/share.py.
ALTER TABLE threadkeep.conversation ADD COLUMN shares text;
ALTER TYPE threadkeep.change ADD ATTRIBUTE shares text;
ALTER TYPE threadkeep.list_filter ADD ATTRIBUTE shared boolean;

CREATE OR REPLACE VIEW threadkeep.conversation_now WITH (security_invoker = true) AS
SELECT c.key, c.tenant, c.owner, c.id, c.version, c.created_at, coalesce(e.created_at, c.created_at) AS updated_at,
       c.status, c.archived, c.assistant, c.title, c.model, c.metadata, c.system,
       coalesce(e.seq, 0) AS last, coalesce(e.head, e.seq, 0) AS head, coalesce(e.newest, e.seq, 0) AS newest,
       coalesce(e.total, 0) AS total, coalesce(e.messages, 0) AS messages, c.shares
FROM threadkeep.conversation c
LEFT JOIN LATERAL (
    SELECT * FROM threadkeep.entry e
    WHERE e.tenant = c.tenant AND e.conversation = c.key ORDER BY e.seq DESC LIMIT 1
) e ON true
WHERE c.id IS NOT NULL;
