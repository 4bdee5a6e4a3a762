-- A deleted conversation has no `id`; it had `deleted_id` and can be restored until a purge begins, which takes that away too.
ALTER TABLE conversation ADD COLUMN deleted_at INTEGER;
ALTER TABLE conversation ADD COLUMN deleted_id BLOB;
UPDATE conversation SET deleted_at = 0 WHERE id IS NULL;
CREATE INDEX conversation_by_deletion ON conversation (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX conversation_by_deleted_id ON conversation (tenant, deleted_id) WHERE deleted_id IS NOT NULL;

-- For those who look at the conversations of all users of a tenant.
CREATE INDEX conversation_by_activity_of_all ON conversation (tenant, updated_at, key) WHERE id IS NOT NULL;
