-- How far a primary and its replicas are: places in the write-ahead log as numbers, to be compared.

-- flushed
-- Everything that was acknowledged lies before it.
SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint AS place

-- replayed
-- Everything before it can be read here.
SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END - '0/0')::bigint AS place
