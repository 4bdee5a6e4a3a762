-- Distribute tables by their tenant, those that are not yet. Tables without a tenant's number stay on the coordinator: a reference
-- table can only be written while every machine lives, and people are to sign in while one is dead.

-- Its owner may see all rows of a table: a policy that is forced upon the owner, too, keeps what is stored from being copied to where
-- it belongs, and stops the replication by which Citus moves it later. The server's role owns nothing.
DO $$
DECLARE guarded regclass;
BEGIN
    FOR guarded IN
        SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'threadkeep'::regnamespace AND c.relforcerowsecurity
    LOOP
        EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', guarded);
    END LOOP;
END $$;

-- What waits in `key_act` becomes pending in a function of the coordinator, which cannot tell another machine for whom it works. Who
-- reads and removes is still under the rule of the others.
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_policies p WHERE p.schemaname = 'threadkeep' AND p.tablename = 'audit_pending' AND p.policyname = 'kept'
    ) THEN
        CREATE POLICY kept ON threadkeep.audit_pending FOR INSERT WITH CHECK (true);
    END IF;
END $$;

-- What was stored before is copied, and does not stay behind.
DO $$
DECLARE whole regclass;
BEGIN
    FOR whole IN
        SELECT c.oid FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND a.atttypid = 'integer'::regtype
        WHERE c.relnamespace = 'threadkeep'::regnamespace AND c.relkind = 'r'
          AND NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid)
        ORDER BY c.relname <> 'conversation'
    LOOP
        PERFORM create_distributed_table(whole, 'tenant', colocate_with := CASE
            WHEN whole = 'threadkeep.conversation'::regclass THEN 'none' ELSE 'threadkeep.conversation'
        END);
        PERFORM truncate_local_data_after_distributing_table(whole);
    END LOOP;
END $$;
