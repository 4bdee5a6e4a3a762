-- What this database alone knows, to hide from clients what is none of their business. The same for all tenants, hence no
-- row-level security.
CREATE TABLE threadkeep.secret (value bytea NOT NULL);
INSERT INTO threadkeep.secret (value)
VALUES (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
GRANT SELECT ON threadkeep.secret TO threadkeep_server;
