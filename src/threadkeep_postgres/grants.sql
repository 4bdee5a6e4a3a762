-- What the server's role may do. Said again after each change: where a schema was sent to other machines, they do not know of it.
GRANT USAGE ON SCHEMA threadkeep TO threadkeep_server;
GRANT USAGE ON SEQUENCE threadkeep.person_key TO threadkeep_server;
GRANT SELECT ON threadkeep.migration, threadkeep.secret TO threadkeep_server;
GRANT SELECT, UPDATE ON threadkeep.pulse TO threadkeep_server;
GRANT SELECT, INSERT ON threadkeep.tenant, threadkeep.person TO threadkeep_server;
GRANT UPDATE (name) ON threadkeep.person TO threadkeep_server;
GRANT INSERT ON threadkeep.word TO threadkeep_server;
GRANT SELECT, INSERT, DELETE ON
    threadkeep.entry, threadkeep.jump, threadkeep.chunk, threadkeep.removal, threadkeep.title_word, threadkeep.audit,
    threadkeep.audit_pending, threadkeep.key_act
TO threadkeep_server;
GRANT UPDATE (deleted_at) ON threadkeep.removal TO threadkeep_server;
GRANT SELECT, INSERT, UPDATE ON threadkeep.api_key, threadkeep.file_total TO threadkeep_server;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    threadkeep.conversation, threadkeep.turn, threadkeep.key, threadkeep.behind, threadkeep.login,
    threadkeep.file_blob, threadkeep.file_chunk, threadkeep.file, threadkeep.file_use,
    threadkeep.usage, threadkeep.note
TO threadkeep_server;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA threadkeep FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA threadkeep TO threadkeep_server;
GRANT SELECT ON threadkeep.definition TO threadkeep_server;
