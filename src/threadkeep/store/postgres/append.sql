-- The plain append: one or two messages behind the last entry that the caller knows, on the newest branch. It takes place
-- only if the conversation is in `behind` (that row is what deletion, indexing and all other writers lock) and fails as a
-- duplicate if there is another entry by now. See migrations/0003_writing.sql.
--
-- $1 tenant, $2 owner, $3 conversation, $4 last entry, $5 newest entry of a branch, $6 now;
-- of each message: kind, id, tokens, content, parts, and the total of bytes with it. The second may be missing.
WITH shared AS MATERIALIZED (
    SELECT set_config('threadkeep.tenant', $1::integer::text, true) FROM threadkeep.behind b
    WHERE b.tenant = $1 AND b.owner = $2 AND b.conversation = $3 FOR KEY SHARE
)
INSERT INTO threadkeep.entry (tenant, conversation, seq, parent, kind, created_at, total, id, tokens, content, parts)
SELECT $1, $3, $4::integer + said.place, said.parent, said.kind, $6, said.total, said.id, said.tokens, said.content, said.parts
FROM shared, (VALUES
    (1, $5::integer, $7::smallint, $8::bytea, $9::integer, $10::bytea, $11::jsonb, $12::bigint),
    (2, $4 + 1, $13::smallint, $14::bytea, $15::integer, $16::bytea, $17::jsonb, $18::bigint)
) said (place, parent, kind, id, tokens, content, parts, total)
WHERE said.kind IS NOT NULL
RETURNING true AS appended
