-- Distribute functions by their first argument, the tenant, those that are not yet: a call is sent to its machine as a whole.
SELECT create_distributed_function(
    p.oid::regprocedure, 'p_tenant', colocate_with := 'threadkeep.conversation', force_delegation := true
) FROM pg_proc p LEFT JOIN pg_dist_object o ON o.classid = 'pg_proc'::regclass AND o.objid = p.oid
WHERE p.pronamespace = 'threadkeep'::regnamespace
  AND p.proargnames[1] = 'p_tenant' AND p.proargtypes[0] = 'integer'::regtype
  AND (o.distribution_argument_index IS DISTINCT FROM 0 OR o.force_delegation IS NOT TRUE);
