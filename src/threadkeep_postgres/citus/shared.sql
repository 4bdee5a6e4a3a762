-- What every machine has a copy of: what policies and functions ask, whatever the tenant.
SELECT create_distributed_function(p.oid::regprocedure) FROM pg_proc p
LEFT JOIN pg_dist_object o ON o.classid = 'pg_proc'::regclass AND o.objid = p.oid
WHERE p.pronamespace = 'threadkeep'::regnamespace AND p.proname IN ('moment', 'present_tenant') AND o.objid IS NULL;

SELECT create_reference_table(c.oid::regclass) FROM pg_class c
WHERE c.oid = 'threadkeep.secret'::regclass
  AND NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid);
