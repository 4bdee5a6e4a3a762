-- Attachments: see store/file_tables.py for what each function promises. Totals are changed last, that of the tenant after
-- those of users, so that nobody who holds one waits for another who does.

-- Add to the total of a user, or (0) of the tenant.
CREATE FUNCTION threadkeep.file_count(p_tenant integer, p_owner integer, p_files bigint, p_bytes bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO threadkeep.file_total AS t (tenant, owner, files, bytes) VALUES (p_tenant, p_owner, p_files, p_bytes)
    ON CONFLICT (tenant, owner) DO UPDATE SET files = t.files + excluded.files, bytes = t.bytes + excluded.bytes;
END $$;

-- See whether what a user, or (0) the tenant, has is within its cap (0: none), without these uploads. Whoever has just added to the
-- total holds it until the commit, so that nobody else adds meanwhile.
CREATE FUNCTION threadkeep.file_check(p_tenant integer, p_owner integer, p_cap bigint, p_without bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_cap > 0 AND EXISTS (
        SELECT FROM threadkeep.file_total t
        WHERE t.tenant = p_tenant AND t.owner = p_owner AND t.bytes - p_without > p_cap
    ) THEN
        RAISE SQLSTATE 'TK001' USING MESSAGE = 'there is no room left for this';
    END IF;
END $$;

CREATE FUNCTION threadkeep.file_begin(
    p_tenant integer, p_owner integer, p_user text, p_id text, p_name text, p_media_type text, p_chunk integer,
    p_now timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    -- Nobody forgets the user's name meanwhile.
    PERFORM FROM threadkeep.person p WHERE p.tenant = p_tenant AND p.name = p_user FOR KEY SHARE;
    IF NOT FOUND THEN
        PERFORM threadkeep.enter_person(p_tenant, p_user, p_owner);
    END IF;
    INSERT INTO threadkeep.file_blob (tenant, owner, size, touched_at, chunk, id, name, media_type)
    VALUES (p_tenant, p_owner, 0, p_now, p_chunk, p_id, p_name, p_media_type) ON CONFLICT DO NOTHING;
END $$;

-- A call that is made again, because its answer was lost, finds the size that it made.
CREATE FUNCTION threadkeep.file_grow(
    p_tenant integer, p_owner integer, p_id text, p_offset bigint, p_size bigint, p_now timestamptz, p_cap bigint,
    p_tenant_cap bigint, OUT is_there boolean, OUT refused text
) LANGUAGE plpgsql AS $$
DECLARE before bigint;
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    SELECT b.size INTO before FROM threadkeep.file_blob b
    WHERE b.tenant = p_tenant AND b.owner = p_owner AND b.id = p_id AND b.sha256 IS NULL
        AND b.size IN (p_offset, p_size) FOR UPDATE;
    is_there := FOUND;
    IF NOT is_there THEN
        RETURN;
    END IF;
    UPDATE threadkeep.file_blob b SET size = p_size, touched_at = p_now WHERE b.tenant = p_tenant AND b.id = p_id;
    PERFORM threadkeep.file_count(p_tenant, p_owner, 0, p_size - before);
    PERFORM threadkeep.file_count(p_tenant, 0, 0, p_size - before);
    PERFORM threadkeep.file_check(p_tenant, p_owner, p_cap, 0);
    PERFORM threadkeep.file_check(p_tenant, 0, p_tenant_cap, 0);
EXCEPTION WHEN SQLSTATE 'TK001' THEN
    refused := 'storage_full';
END $$;

-- Whoever drops the blob with this digest meanwhile is waited for.
CREATE FUNCTION threadkeep.file_finish(
    p_tenant integer, p_owner integer, p_upload text, p_file text, p_name text, p_media_type text, p_sha256 text,
    p_now timestamptz, p_cap bigint, p_tenant_cap bigint, OUT is_there boolean, OUT is_new boolean, OUT refused text
) LANGUAGE plpgsql AS $$
DECLARE same text; uploaded bigint; unfinished record;
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    SELECT b.size INTO uploaded FROM threadkeep.file_blob b
    WHERE b.tenant = p_tenant AND b.owner = p_owner AND b.id = p_upload AND b.sha256 IS NULL FOR UPDATE;
    is_there := FOUND;
    IF NOT is_there THEN
        RETURN;
    END IF;
    SELECT b.id INTO same FROM threadkeep.file_blob b WHERE b.tenant = p_tenant AND b.sha256 = p_sha256 FOR UPDATE;
    UPDATE threadkeep.file_blob b
    SET owner = NULL, name = NULL, media_type = NULL, sha256 = CASE WHEN same IS NULL THEN p_sha256 END
    WHERE b.tenant = p_tenant AND b.id = p_upload;
    UPDATE threadkeep.file f SET touched_at = p_now WHERE f.tenant = p_tenant AND f.id = p_file;
    is_new := NOT FOUND;
    IF is_new THEN
        INSERT INTO threadkeep.file (tenant, owner, created_at, touched_at, id, name, media_type, blob)
        VALUES (p_tenant, p_owner, p_now, p_now, p_file, p_name, p_media_type, coalesce(same, p_upload));
        PERFORM threadkeep.file_count(p_tenant, p_owner, 1, 0);
        PERFORM threadkeep.file_count(p_tenant, 0, 1, 0);
        SELECT coalesce(sum(b.size) FILTER (WHERE b.owner = p_owner), 0)::bigint AS mine, coalesce(sum(b.size), 0)::bigint AS everybodys
        INTO unfinished FROM threadkeep.file_blob b WHERE b.tenant = p_tenant AND b.sha256 IS NULL;
        PERFORM threadkeep.file_check(p_tenant, p_owner, p_cap, unfinished.mine);
        PERFORM threadkeep.file_check(p_tenant, 0, p_tenant_cap, unfinished.everybodys);
    ELSE
        PERFORM threadkeep.file_count(p_tenant, p_owner, 0, -uploaded);
    END IF;
EXCEPTION WHEN SQLSTATE 'TK001' THEN
    refused := 'storage_full';
END $$;

-- Give up one upload of a user, or those of a user or a tenant that did not grow since `p_before`.
CREATE FUNCTION threadkeep.file_drop_uploads(
    p_tenant integer, p_owner integer, p_id text, p_before timestamptz, OUT dropped bigint
) LANGUAGE plpgsql AS $$
DECLARE upload record;
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    dropped := 0;
    FOR upload IN
        SELECT b.id, b.owner, b.size FROM threadkeep.file_blob b
        WHERE b.tenant = p_tenant AND b.sha256 IS NULL AND b.owner IS NOT NULL AND (p_owner IS NULL OR b.owner = p_owner)
            AND (p_id IS NULL OR b.id = p_id) AND (p_before IS NULL OR b.touched_at < p_before)
        ORDER BY b.owner FOR UPDATE
    LOOP
        UPDATE threadkeep.file_blob b SET owner = NULL WHERE b.tenant = p_tenant AND b.id = upload.id;
        PERFORM threadkeep.file_count(p_tenant, upload.owner, 0, -upload.size);
        dropped := dropped + 1;
    END LOOP;
END $$;

CREATE FUNCTION threadkeep.file_touch(p_tenant integer, p_owner integer, p_id text, p_now timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    UPDATE threadkeep.file f SET touched_at = p_now WHERE f.tenant = p_tenant AND f.owner = p_owner AND f.id = p_id;
END $$;

-- Blobs are locked in one order before files are looked at: whoever adds a file to one has done so, or sees that it is gone.
CREATE FUNCTION threadkeep.file_drop(p_tenant integer, p_ids text[], p_before timestamptz, OUT removed bigint)
LANGUAGE plpgsql AS $$
DECLARE blobs text[]; gone record;
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    SELECT array_agg(DISTINCT f.blob ORDER BY f.blob) INTO blobs
    FROM threadkeep.file f WHERE f.tenant = p_tenant AND f.id = ANY (p_ids);
    PERFORM FROM threadkeep.file_blob b WHERE b.tenant = p_tenant AND b.id = ANY (blobs) ORDER BY b.id FOR UPDATE;
    -- Whoever is about to use one of these files waits, and finds it missing.
    PERFORM FROM threadkeep.file f WHERE f.tenant = p_tenant AND f.id = ANY (p_ids) ORDER BY f.id FOR UPDATE;
    removed := 0;
    FOR gone IN
        SELECT f.id, f.owner, b.size FROM threadkeep.file f
        JOIN threadkeep.file_blob b ON b.tenant = f.tenant AND b.id = f.blob
        WHERE f.tenant = p_tenant AND f.id = ANY (p_ids) AND (p_before IS NULL OR f.touched_at < p_before AND NOT EXISTS (
            SELECT FROM threadkeep.file_use u WHERE u.tenant = p_tenant AND u.file = f.id
        )) ORDER BY f.owner
    LOOP
        DELETE FROM threadkeep.file f WHERE f.tenant = p_tenant AND f.id = gone.id;
        PERFORM threadkeep.file_count(p_tenant, gone.owner, -1, -gone.size);
        removed := removed + 1;
    END LOOP;
    SELECT array_agg(b.id) INTO blobs FROM threadkeep.file_blob b
    WHERE b.tenant = p_tenant AND b.id = ANY (blobs) AND NOT EXISTS (
        SELECT FROM threadkeep.file f WHERE f.tenant = p_tenant AND f.blob = b.id
    );
    UPDATE threadkeep.file_blob b SET sha256 = NULL WHERE b.tenant = p_tenant AND b.id = ANY (blobs);
    PERFORM threadkeep.file_count(p_tenant, 0, -removed, 0);
END $$;

CREATE FUNCTION threadkeep.file_forget(p_tenant integer, p_blob text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE freed bigint;
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    DELETE FROM threadkeep.file_blob b
    WHERE b.tenant = p_tenant AND b.id = p_blob AND b.sha256 IS NULL AND b.owner IS NULL RETURNING b.size INTO freed;
    IF FOUND THEN
        PERFORM threadkeep.file_count(p_tenant, 0, 0, -freed);
    END IF;
END $$;

CREATE FUNCTION threadkeep.file_put(p_tenant integer, p_blob text, p_number integer, p_data bytea)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    INSERT INTO threadkeep.file_chunk (tenant, number, blob, data) VALUES (p_tenant, p_number, p_blob, p_data)
    ON CONFLICT (tenant, blob, number) DO UPDATE SET data = excluded.data;
END $$;

CREATE FUNCTION threadkeep.file_remove(p_tenant integer, p_blob text, p_limit integer, OUT removed bigint)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM threadkeep.works_for(p_tenant);
    DELETE FROM threadkeep.file_chunk c WHERE c.tenant = p_tenant AND c.blob = p_blob AND c.number IN (
        SELECT n.number FROM threadkeep.file_chunk n WHERE n.tenant = p_tenant AND n.blob = p_blob LIMIT p_limit
    );
    GET DIAGNOSTICS removed = ROW_COUNT;
END $$;
