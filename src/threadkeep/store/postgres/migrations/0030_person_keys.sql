-- Keys of people are drawn from a sequence before they are stored: an engine that distributes tables by tenant allows no identity
-- column of this size there.
DO $$
DECLARE newest bigint := pg_sequence_last_value(pg_get_serial_sequence('threadkeep.person', 'key')::regclass);
BEGIN
    ALTER TABLE threadkeep.person ALTER key DROP IDENTITY;
    EXECUTE format('CREATE SEQUENCE threadkeep.person_key AS integer START %s', coalesce(newest, 0) + 1);
END $$;
GRANT USAGE ON SEQUENCE threadkeep.person_key TO threadkeep_server;
