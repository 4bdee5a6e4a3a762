-- The machines of the cluster and what they must be set to, so that tenants can be moved while people write.
SELECT n.nodename || ':' || n.nodeport AS name, n.groupid > 0 AS is_worker, n.isactive AND (n.metadatasynced OR n.groupid = 0) AS is_active
FROM pg_dist_node n WHERE n.noderole = 'primary' ORDER BY n.groupid
