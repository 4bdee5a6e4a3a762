-- The plain append of two messages: as append_one.sql, with $13 to $18 for the second message.
WITH shared AS MATERIALIZED (
    SELECT set_config('threadkeep.tenant', $1::integer::text, true) FROM threadkeep.behind b
    WHERE b.tenant = $1 AND b.owner = $2 AND b.conversation = $3 FOR KEY SHARE
)
INSERT INTO threadkeep.entry (tenant, conversation, seq, parent, kind, created_at, total, id, tokens, content, parts)
SELECT $1, $3, said.* FROM shared, (VALUES
    ($4::integer + 1, $5::integer, $7::smallint, $6::timestamptz, $12::bigint, $8::bytea, $9::integer, $10::bytea, $11::jsonb),
    ($4 + 2, $4 + 1, $13::smallint, $6, $18::bigint, $14::bytea, $15::integer, $16::bytea, $17::jsonb)
) said
