-- Reading in the tables of one tenant, $1, about whom row-level security is told first: `works_for` is a condition without a
-- column, which is answered before a row is looked at. $2 is mostly the key of a user.

-- find_person
-- Who comes back lives where they lived, also if nothing of them was left: then by the pseudonym $3.
SELECT p.key AS owner FROM threadkeep.person p
WHERE threadkeep.works_for($1) AND p.tenant = $1 AND p.name IN ($2, $3)

-- users
SELECT p.name FROM threadkeep.person p
WHERE threadkeep.works_for($1) AND p.tenant = $1 AND EXISTS (
    SELECT FROM threadkeep.conversation c WHERE c.tenant = $1 AND c.owner = p.key AND c.id IS NOT NULL
) ORDER BY p.name

-- usage_of
-- What a user, or the tenant (0), has used from a day to a day.
SELECT g.day, g.model, g.currency, g.answers, g.input_tokens, g.output_tokens, g.cached_tokens, g.cost FROM threadkeep.usage g
WHERE threadkeep.works_for($1) AND g.tenant = $1 AND g.owner = $2 AND g.day BETWEEN $3 AND $4
ORDER BY g.day, g.model, g.currency

-- usage_users
-- The same of the first users behind a name, by name; no name begins with a tilde.
SELECT n.name, g.day, g.model, g.currency, g.answers, g.input_tokens, g.output_tokens, g.cached_tokens, g.cost
FROM (
    SELECT p.key, p.name FROM threadkeep.person p
    WHERE threadkeep.works_for($1) AND p.tenant = $1 AND p.name > $5 AND p.name < '~' AND EXISTS (
        SELECT FROM threadkeep.usage s WHERE s.tenant = $1 AND s.owner = p.key AND s.day BETWEEN $2 AND $3
    ) ORDER BY p.name LIMIT $4
) n JOIN threadkeep.usage g ON g.tenant = $1 AND g.owner = n.key AND g.day BETWEEN $2 AND $3
ORDER BY n.name, g.day, g.model, g.currency

-- owner_of
SELECT p.name FROM threadkeep.conversation c JOIN threadkeep.person p ON p.tenant = c.tenant AND p.key = c.owner
WHERE threadkeep.works_for($1) AND c.tenant = $1 AND c.id = $2

-- expired
-- The turns that nobody sees to, where leases last $2.
SELECT t.tenant_name AS tenant, t.user_name, t.conversation_id AS conversation, t.number, t.state, t.owner, t.fence, t.until
FROM threadkeep.turn t CROSS JOIN threadkeep.moment() now
WHERE t.tenant = $1 AND (
    t.state = 'running' AND (t.until < now OR t.until > now + 2 * $2::interval)
    OR t.state = 'queued' AND NOT EXISTS (
        SELECT FROM threadkeep.turn o
        WHERE o.tenant = $1 AND o.conversation = t.conversation AND (o.state <> 'queued' OR o.number < t.number)
    )
) AND NOT EXISTS (SELECT FROM threadkeep.removal r WHERE r.tenant = $1 AND r.conversation = t.conversation)
ORDER BY t.until NULLS LAST LIMIT $3

-- emptied
-- Conversations of which nothing is left but what lies in the unused room of pages.
SELECT r.conversation FROM threadkeep.removal r WHERE r.tenant = $1 AND r.deleted_at = '-infinity'

-- forget_removals
-- Removals that are complete; a row for each that nobody else has forgotten.
DELETE FROM threadkeep.removal r
WHERE r.tenant = $1 AND r.conversation = ANY ($2) AND r.deleted_at = '-infinity' RETURNING r.conversation

-- pending_acts
SELECT p.key, p.act FROM threadkeep.audit_pending p
WHERE threadkeep.works_for($1) AND p.tenant = $1 ORDER BY p.at, p.key LIMIT $2

-- acts
SELECT a.* FROM threadkeep.audit a
WHERE threadkeep.works_for($1) AND a.tenant = $1 AND ($2::text IS NULL OR a.actor = $2)
  AND ($3::text[] IS NULL OR a.action = ANY ($3)) AND ($4::text IS NULL OR a.object = $4)
  AND ($5::text IS NULL OR a.at >= $5) AND ($6::text IS NULL OR a.at < $6) AND a.seq > $7
ORDER BY a.seq LIMIT $8

-- newest_acts
SELECT a.* FROM threadkeep.audit a
WHERE threadkeep.works_for($1) AND a.tenant = $1 AND ($2::text IS NULL OR a.actor = $2)
  AND ($3::text[] IS NULL OR a.action = ANY ($3)) AND ($4::text IS NULL OR a.object = $4)
  AND ($5::text IS NULL OR a.at >= $5) AND ($6::text IS NULL OR a.at < $6) AND ($7::integer IS NULL OR a.seq < $7)
ORDER BY a.seq DESC LIMIT $8

-- file_upload
SELECT b.id, b.name, b.media_type, b.size, b.chunk FROM threadkeep.file_blob b
WHERE threadkeep.works_for($1) AND b.tenant = $1 AND b.owner = $2 AND b.id = $3 AND b.sha256 IS NULL

-- file_is_in
SELECT b.id FROM threadkeep.file_blob b WHERE threadkeep.works_for($1) AND b.tenant = $1 AND b.id = $2

-- file_find
-- A file with what its blob tells; missing if all its conversations were deleted.
SELECT p.name AS user_name, f.id, f.name, f.media_type, b.size, b.sha256, f.blob, b.chunk, f.created_at, f.touched_at
FROM threadkeep.file f
JOIN threadkeep.file_blob b ON b.tenant = f.tenant AND b.id = f.blob
JOIN threadkeep.person p ON p.tenant = f.tenant AND p.key = f.owner
WHERE threadkeep.works_for($1) AND f.tenant = $1 AND f.id = $3 AND f.owner = $2 AND f.touched_at <> 'epoch'

-- file_rows
SELECT p.name AS user_name, f.id, f.name, f.media_type, b.size, b.sha256, f.blob, b.chunk, f.created_at, f.touched_at
FROM threadkeep.file f
JOIN threadkeep.file_blob b ON b.tenant = f.tenant AND b.id = f.blob
JOIN threadkeep.person p ON p.tenant = f.tenant AND p.key = f.owner
WHERE threadkeep.works_for($1) AND f.tenant = $1 AND ($2::integer IS NULL OR f.owner = $2) AND f.id > $3
ORDER BY f.id LIMIT $4

-- file_unused
SELECT f.id FROM threadkeep.file f
WHERE threadkeep.works_for($1) AND f.tenant = $1 AND f.touched_at < $2 AND NOT EXISTS (
    SELECT FROM threadkeep.file_use u WHERE u.tenant = $1 AND u.file = f.id
) LIMIT $3

-- file_dropped
SELECT b.id FROM threadkeep.file_blob b
WHERE threadkeep.works_for($1) AND b.tenant = $1 AND b.sha256 IS NULL AND b.owner IS NULL LIMIT $2

-- file_usage
SELECT t.files, t.bytes FROM threadkeep.file_total t
WHERE threadkeep.works_for($1) AND t.tenant = $1 AND t.owner = coalesce($2::integer, 0)

-- file_used_bytes
SELECT coalesce(sum(b.size), 0)::bigint AS bytes
FROM threadkeep.file f JOIN threadkeep.file_blob b ON b.tenant = f.tenant AND b.id = f.blob
WHERE threadkeep.works_for($1) AND f.tenant = $1 AND ($2::integer IS NULL OR f.owner = $2) AND EXISTS (
    SELECT FROM threadkeep.file_use u JOIN threadkeep.conversation c ON c.tenant = u.tenant AND c.key = u.conversation
    WHERE u.tenant = $1 AND u.file = f.id AND c.id IS NOT NULL AND ($3::bytea IS NULL OR c.id = $3)
)

-- file_get
SELECT c.data FROM threadkeep.file_chunk c WHERE threadkeep.works_for($1) AND c.tenant = $1 AND c.blob = $2 AND c.number = $3
