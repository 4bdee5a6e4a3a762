-- The server's role: it owns nothing, cannot change an entry, and everything it does passes through row-level security.

DO $$
BEGIN
    IF to_regrole('threadkeep_server') IS NULL THEN
        CREATE ROLE threadkeep_server NOLOGIN;
    END IF;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN
        NULL; -- Somebody who migrates another database was faster.
    WHEN insufficient_privilege THEN
        RAISE insufficient_privilege USING MESSAGE =
            'the role threadkeep_server is missing and may not be created by this user: '
            'run CREATE ROLE threadkeep_server NOLOGIN as an administrator first';
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA threadkeep FROM PUBLIC;
GRANT USAGE ON SCHEMA threadkeep TO threadkeep_server;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA threadkeep TO threadkeep_server;
GRANT SELECT ON threadkeep.migration, threadkeep.conversation_now TO threadkeep_server;
GRANT SELECT, INSERT ON threadkeep.tenant, threadkeep.person TO threadkeep_server;
GRANT SELECT, INSERT, DELETE ON
    threadkeep.entry, threadkeep.jump, threadkeep.chunk, threadkeep.removal
TO threadkeep_server;
GRANT INSERT ON threadkeep.word TO threadkeep_server;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    threadkeep.conversation, threadkeep.turn, threadkeep.key, threadkeep.behind
TO threadkeep_server;
GRANT SELECT, UPDATE ON threadkeep.pulse TO threadkeep_server;
