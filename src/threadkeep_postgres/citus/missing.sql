-- What is not yet as the other files of this folder make it: the tables with a tenant that lie on one machine or whose owner is under row-level
-- security, and the functions for a tenant that are not sent to its machine.
SELECT c.relname::text AS name FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND a.atttypid = 'integer'::regtype
LEFT JOIN pg_dist_partition p ON p.logicalrelid = c.oid AND p.partmethod = 'h'
WHERE c.relnamespace = 'threadkeep'::regnamespace AND c.relkind = 'r' AND (p.logicalrelid IS NULL OR c.relforcerowsecurity)
UNION ALL
SELECT c.relname::text FROM pg_class c LEFT JOIN pg_dist_partition p ON p.logicalrelid = c.oid
WHERE c.oid = 'threadkeep.secret'::regclass AND p.logicalrelid IS NULL
UNION ALL
SELECT p.oid::regprocedure::text FROM pg_proc p
LEFT JOIN pg_dist_object o ON o.classid = 'pg_proc'::regclass AND o.objid = p.oid
WHERE p.pronamespace = 'threadkeep'::regnamespace AND CASE
    WHEN p.proargnames[1] = 'p_tenant' AND p.proargtypes[0] = 'integer'::regtype
    THEN o.distribution_argument_index IS DISTINCT FROM 0 OR o.force_delegation IS NOT TRUE
    WHEN p.proname IN ('moment', 'present_tenant') THEN o.objid IS NULL
    ELSE false
END
