-- A person of whom nothing is left is known by a pseudonym, and its name stands in no file.
CREATE UNIQUE INDEX person_by_key ON threadkeep.person (tenant, key);
GRANT UPDATE (name) ON threadkeep.person TO threadkeep_server;
ALTER TABLE threadkeep.person ALTER name SET STATISTICS 0;
ALTER TABLE threadkeep.api_key ALTER person SET STATISTICS 0;
ALTER TABLE threadkeep.turn ALTER user_name SET STATISTICS 0;
