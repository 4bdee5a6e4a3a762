-- What the files and uploads of a user add up to, and in the row of nobody (0) what those of a tenant do, in which the bytes
-- of a blob count once; changed with the rows that it counts.
CREATE TABLE threadkeep.file_total (
    tenant integer NOT NULL,
    owner integer NOT NULL,
    files bigint NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (tenant, owner)
);
ALTER TABLE threadkeep.file_total ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON threadkeep.file_total USING (tenant IS NOT DISTINCT FROM threadkeep.present_tenant());
GRANT SELECT, INSERT, UPDATE ON threadkeep.file_total TO threadkeep_server;
DO $$
DECLARE here integer; total record;
BEGIN
    FOR here IN SELECT t.key FROM threadkeep.tenant t LOOP
        PERFORM set_config('threadkeep.tenant', here::text, true);
        FOR total IN
            SELECT owner, sum(files) AS files, sum(bytes) AS bytes FROM (
                SELECT f.owner, 1 AS files, b.size AS bytes
                FROM threadkeep.file f JOIN threadkeep.file_blob b ON b.tenant = f.tenant AND b.id = f.blob
                WHERE f.tenant = here
                UNION ALL
                SELECT b.owner, 0, b.size FROM threadkeep.file_blob b WHERE b.tenant = here AND b.owner IS NOT NULL
                UNION ALL SELECT 0, 1, 0 FROM threadkeep.file f WHERE f.tenant = here
                UNION ALL SELECT 0, 0, b.size FROM threadkeep.file_blob b WHERE b.tenant = here
            ) counted GROUP BY owner
        LOOP
            INSERT INTO threadkeep.file_total VALUES (here, total.owner, total.files, total.bytes);
        END LOOP;
    END LOOP;
END $$;
