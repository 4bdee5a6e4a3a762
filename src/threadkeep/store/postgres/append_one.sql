-- The plain append: a message behind the last entry that the caller knows, on the newest branch. It takes place only if the
-- conversation is in `behind` (that row is what deletion, indexing and all other writers lock) and fails as a duplicate if
-- there is another entry by now. See migrations/0003_writing.sql.
--
-- $1 tenant, $2 owner, $3 conversation, $4 last entry, $5 newest entry of a branch, $6 now;
-- of the message: $7 kind, $8 id, $9 tokens, $10 content, $11 parts, $12 total of bytes with it.
INSERT INTO threadkeep.entry (tenant, conversation, seq, parent, kind, created_at, total, id, tokens, content, parts)
SELECT $1, $3, $4::integer + 1, $5::integer, $7::smallint, $6::timestamptz, $12::bigint, $8::bytea, $9::integer,
       $10::bytea, $11::jsonb
FROM threadkeep.behind b
WHERE b.tenant = $1 AND b.owner = $2 AND b.conversation = $3
  AND set_config('threadkeep.tenant', $1::integer::text, true) IS NOT NULL
FOR KEY SHARE
