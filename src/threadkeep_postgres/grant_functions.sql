REVOKE ALL ON ALL FUNCTIONS IN SCHEMA threadkeep FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA threadkeep TO threadkeep_server;
GRANT SELECT ON threadkeep.definition TO threadkeep_server;
