-- Reading one conversation of tenant $1 and user $2, whose id is $3: see tenant.sql. No row if there is none.

-- get
-- The end of a log is what its last entry tells.
SELECT c.id, c.version, c.created_at, coalesce(e.created_at, c.created_at) AS updated_at, c.facts, c.large,
       coalesce(e.seq, 0) AS last, coalesce(e.head, e.seq, 0) AS head
FROM threadkeep.conversation c
LEFT JOIN LATERAL (
    SELECT e.created_at, e.seq, e.head FROM threadkeep.entry e
    WHERE e.tenant = $1 AND e.conversation = c.key ORDER BY e.seq DESC LIMIT 1
) e ON true
WHERE threadkeep.works_for($1) AND c.tenant = $1 AND c.id = $3 AND c.owner = $2

-- tree
-- First, parent, left and beside of each jump, one after the other.
SELECT coalesce(e.head, e.seq, 0) AS head, coalesce(e.newest, e.seq, 0) AS newest, ARRAY(
    SELECT n FROM threadkeep.jump j, unnest(ARRAY[j.first, j.parent, j."left", j.beside]) WITH ORDINALITY number (n, place)
    WHERE j.tenant = $1 AND j.conversation = c.key ORDER BY j.first, place
) AS jumps
FROM threadkeep.conversation c
LEFT JOIN LATERAL (
    SELECT e.seq, e.head, e.newest FROM threadkeep.entry e
    WHERE e.tenant = $1 AND e.conversation = c.key ORDER BY e.seq DESC LIMIT 1
) e ON true
WHERE threadkeep.works_for($1) AND c.tenant = $1 AND c.id = $3 AND c.owner = $2

-- turns
-- A row without a number if none is open.
SELECT t.number, t.state, t.owner, t.fence, t.until
FROM threadkeep.conversation c LEFT JOIN threadkeep.turn t ON t.tenant = $1 AND t.conversation = c.key
WHERE threadkeep.works_for($1) AND c.tenant = $1 AND c.id = $3 AND c.owner = $2 ORDER BY t.number

-- entries_at
-- Those of some entries that are there; a row without a number if none is.
SELECT e.seq, e.parent, e.kind, e.turn, e.created_at, e.id, e.tokens, e.content, e.parts
FROM threadkeep.conversation c LEFT JOIN threadkeep.entry e ON e.tenant = $1 AND e.conversation = c.key AND e.seq = ANY ($4::bigint[])
WHERE threadkeep.works_for($1) AND c.tenant = $1 AND c.id = $3 AND c.owner = $2

-- end_of
-- The end of a log, and what a decision may ask beyond it: whether $4 is on a branch and what continued it in its own run (or 0), the
-- entry that tells of the queued turn $5, what the key $6 made, and (if $7) all facts.
SELECT c.key AS conversation, c.version, c.facts ->> 'status' AS status, CASE WHEN $7 THEN c.facts END AS facts,
       CASE WHEN $7 THEN c.large END AS large, coalesce(e.seq, 0) AS last, coalesce(e.head, e.seq, 0) AS head,
       coalesce(e.newest, e.seq, 0) AS newest, coalesce(e.total, c.bytes) AS total, coalesce(e.messages, 0) AS messages,
       ARRAY(SELECT t FROM threadkeep.turn t WHERE t.tenant = $1 AND t.conversation = c.key ORDER BY t.number) AS turns,
       d.number AS pieces, d.message, d.turn, d.ends AS characters, d.bytes,
       EXISTS (
           SELECT FROM threadkeep.entry b
           WHERE b.tenant = $1 AND b.conversation = c.key AND b.seq = $4::integer AND b.kind <= 8
       ) AS is_on_branch,
       coalesce((
           SELECT CASE WHEN j.first IS NULL THEN f.seq END
           FROM (
               SELECT b.seq FROM threadkeep.entry b
               WHERE b.tenant = $1 AND b.conversation = c.key AND b.seq > $4 AND b.kind <= 8 ORDER BY b.seq LIMIT 1
           ) f LEFT JOIN threadkeep.jump j ON j.tenant = $1 AND j.conversation = c.key AND j.first = f.seq
       ), 0) AS follower,
       (SELECT q.parts FROM threadkeep.entry q WHERE q.tenant = $1 AND q.conversation = c.key AND q.seq = $5::integer) AS queued,
       k.conversation AS made_in, k.digest, k.first AS first_made, k.last AS last_made
FROM threadkeep.conversation c
LEFT JOIN LATERAL (
    SELECT e.* FROM threadkeep.entry e WHERE e.tenant = $1 AND e.conversation = c.key ORDER BY e.seq DESC LIMIT 1
) e ON true
LEFT JOIN LATERAL (
    SELECT d.* FROM threadkeep.chunk d WHERE d.tenant = $1 AND d.conversation = c.key ORDER BY d.number DESC LIMIT 1
) d ON true
LEFT JOIN threadkeep.key k ON k.tenant = $1 AND k.name = $6 AND EXISTS (
    SELECT FROM threadkeep.conversation m WHERE m.tenant = $1 AND m.key = k.conversation AND m.id IS NOT NULL
)
WHERE threadkeep.works_for($1) AND c.tenant = $1 AND c.id = $3 AND c.owner = $2

-- made_by
-- What an idempotency key of a tenant, $2, made. A key of a deleted conversation is free again.
SELECT c.id, k.digest, k.first, k.last
FROM threadkeep.key k JOIN threadkeep.conversation c ON c.tenant = k.tenant AND c.key = k.conversation
WHERE threadkeep.works_for($1) AND k.tenant = $1 AND k.name = $2 AND c.id IS NOT NULL

-- is_taken
-- One row if a tenant uses the id $2.
SELECT c.key FROM threadkeep.conversation c WHERE threadkeep.works_for($1) AND c.tenant = $1 AND c.id = $2

-- list_floor
-- How far a filter of a list looks back: activity and key of the last of so many conversations, no row if there are less. Without
-- an owner it is the list of all users.
SELECT c.updated_at, c.key FROM threadkeep.conversation c
WHERE threadkeep.works_for($1) AND c.tenant = $1 AND ($2::integer IS NULL OR c.owner = $2) AND c.id IS NOT NULL
  AND (c.updated_at, c.key) < ($3, $4)
ORDER BY c.updated_at DESC, c.key DESC LIMIT 1 OFFSET $5::integer - 1
