-- A planner derives `tenant = …` for other tables of a query from an equality in a policy, and an engine that distributes
-- tables by tenant may send the query elsewhere by it. From this form it derives nothing; queries name their tenant.
DO $$
DECLARE guarded text;
BEGIN
    FOR guarded IN SELECT p.tablename FROM pg_policies p WHERE p.schemaname = 'threadkeep' LOOP
        EXECUTE format(
            'ALTER POLICY tenant ON threadkeep.%I USING (tenant IS NOT DISTINCT FROM threadkeep.present_tenant())', guarded
        );
    END LOOP;
END $$;
