-- Statements over the small tables that belong to no tenant, and those that find its key. What changes an API key or a login
-- takes an act for the audit log along ($n::text[], null for none) of the tenant whose key stands before it; see `make_pending`.

-- store_secret
SELECT s.value FROM threadkeep.secret s

-- ping
UPDATE threadkeep.pulse SET at = now()

-- cells
SELECT t.key, t.opens_at, now AS read_at FROM threadkeep.tenant t CROSS JOIN threadkeep.moment() now
WHERE t.name = $1 ORDER BY t.cell

-- widen
INSERT INTO threadkeep.tenant (name, cell, opens_at)
SELECT $1, cell, now + $3 FROM generate_series(1, $2::integer - 1) cell CROSS JOIN threadkeep.moment() now
WHERE EXISTS (SELECT FROM threadkeep.tenant t WHERE t.name = $1) ORDER BY cell
ON CONFLICT DO NOTHING RETURNING cell

-- make_tenant
INSERT INTO threadkeep.tenant (name) VALUES ($1) ON CONFLICT DO NOTHING

-- draw_key
-- Not in the statement that stores it: a machine to which that is sent has sequences of its own.
SELECT nextval('threadkeep.person_key')::integer AS key

-- tenants
-- All tenants, or those for whom the background job $1 has something to do; leases last $2. This alone looks at all tenants at
-- once, to spare asking each: where it cannot be answered, because one of several machines is away, each is asked.
SELECT t.key, t.name FROM threadkeep.tenant t
WHERE $1::text IS NULL OR t.key IN (
    SELECT u.tenant FROM threadkeep.turn u CROSS JOIN threadkeep.moment() now
    WHERE $1 = 'recovery' AND (u.state = 'queued' OR u.state = 'running' AND (u.until < now OR u.until > now + 2 * $2::interval))
    UNION
    SELECT b.tenant FROM threadkeep.behind b WHERE $1 = 'indexing'
    UNION
    SELECT r.tenant FROM threadkeep.removal r WHERE $1 = 'purging'
) ORDER BY t.name, t.cell

-- add_api_key
WITH added AS (
    INSERT INTO threadkeep.api_key (id, digest, hint, tenant, person, role, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING id
), told AS (
    INSERT INTO threadkeep.key_act (tenant_key, act)
    SELECT $9::integer, $10::text[] FROM added WHERE $10 IS NOT NULL
)
SELECT added.id FROM added

-- find_api_key
SELECT k.* FROM threadkeep.api_key k WHERE k.digest = $1

-- api_keys
SELECT k.* FROM threadkeep.api_key k WHERE $1::text IS NULL OR k.tenant = $1 ORDER BY k.created_at, k.id

-- revoke_api_key
WITH revoked AS (
    UPDATE threadkeep.api_key k SET revoked_at = coalesce(k.revoked_at, $2) WHERE k.id = $1 RETURNING k.*
), ended AS (
    DELETE FROM threadkeep.login l WHERE l.key = $1
), told AS (
    INSERT INTO threadkeep.key_act (tenant_key, act)
    SELECT $3::integer, $4::text[] FROM revoked WHERE $4 IS NOT NULL
)
SELECT revoked.* FROM revoked

-- add_login
-- Those of everybody that have ended go, and of this key all but the newest $8 - 1.
WITH gone AS (
    DELETE FROM threadkeep.login l WHERE least(l.idle_until, l.ends_at) < $5 OR l.id IN (
        SELECT o.id FROM threadkeep.login o WHERE o.key = $3 ORDER BY o.created_at DESC, o.id DESC OFFSET $8::integer - 1
    )
), told AS (
    INSERT INTO threadkeep.key_act (tenant_key, act)
    SELECT $9::integer, $10::text[] WHERE $10 IS NOT NULL
)
INSERT INTO threadkeep.login (id, digest, key, device, created_at, idle_until, ends_at) VALUES ($1, $2, $3, $4, $5, $6, $7)

-- find_login
SELECT k.*, l.id AS login, l.digest AS token, l.device, l.created_at AS begun_at, l.idle_until, l.ends_at
FROM threadkeep.login l JOIN threadkeep.api_key k ON k.id = l.key WHERE l.digest = $1

-- logins
SELECT k.*, l.id AS login, l.digest AS token, l.device, l.created_at AS begun_at, l.idle_until, l.ends_at
FROM threadkeep.login l JOIN threadkeep.api_key k ON k.id = l.key
WHERE ($1::text IS NULL OR k.tenant = $1) AND ($2::text IS NULL OR k.person = $2) ORDER BY l.created_at, l.id

-- renew_login
UPDATE threadkeep.login l SET idle_until = $2 WHERE l.digest = $1

-- end_login
WITH ended AS (
    DELETE FROM threadkeep.login l WHERE l.id = $1 RETURNING l.id
), told AS (
    INSERT INTO threadkeep.key_act (tenant_key, act)
    SELECT $2::integer, $3::text[] FROM ended WHERE $3 IS NOT NULL
)
SELECT ended.id FROM ended

-- notes_named
SELECT n.name, n.version, n.text FROM threadkeep.note n WHERE n.tenant = $1 AND n.name = ANY ($2::text[])

-- notes_after
SELECT n.name, n.version, n.text FROM threadkeep.note n
WHERE n.tenant = $1 AND n.name BETWEEN $2 AND $3 AND n.name > $4 ORDER BY n.name LIMIT $5

-- note_tenants
SELECT DISTINCT n.tenant FROM threadkeep.note n WHERE n.name BETWEEN $1 AND $2 ORDER BY n.tenant

-- add_note
INSERT INTO threadkeep.note (tenant, name, version, text) VALUES ($1, $2, 1, $3) ON CONFLICT DO NOTHING RETURNING version

-- change_note
UPDATE threadkeep.note n SET version = n.version + 1, text = $4
WHERE n.tenant = $1 AND n.name = $2 AND n.version = $3 RETURNING n.version

-- drop_note
DELETE FROM threadkeep.note n WHERE n.tenant = $1 AND n.name = $2 AND n.version = $3 RETURNING n.version
