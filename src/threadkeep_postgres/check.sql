-- The migrations that were applied, in order, and whether the present role could get around row-level security.
SELECT
    ARRAY(SELECT name FROM threadkeep.migration ORDER BY number) AS applied,
    r.rolname AS role,
    current_setting('synchronous_commit') AS synchronous_commit,
    r.rolsuper OR r.rolbypassrls OR pg_has_role(r.oid, c.relowner, 'USAGE') AS is_privileged
FROM pg_roles r, pg_class c
WHERE r.rolname = current_user AND c.oid = to_regclass('threadkeep.migration');
