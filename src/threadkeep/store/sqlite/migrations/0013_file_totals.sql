-- What the files and uploads of a user add up to, and in the row of the user '' what those of a tenant do, in which the
-- bytes of a blob count once. Triggers keep it, so that whatever changes a row changes its totals with it.
CREATE TABLE file_total (
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    files INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (tenant, user)
) STRICT, WITHOUT ROWID;
INSERT INTO file_total
SELECT tenant, user, sum(files), sum(bytes) FROM (
    SELECT f.tenant, f.user, 1 AS files, b.size AS bytes FROM file f JOIN file_blob b ON b.id = f.blob
    UNION ALL SELECT tenant, user, 0, size FROM file_blob WHERE user IS NOT NULL
    UNION ALL SELECT tenant, '', 1, 0 FROM file
    UNION ALL SELECT tenant, '', 0, size FROM file_blob
) GROUP BY tenant, user;
-- The name of a user who has nothing stands nowhere.
CREATE TRIGGER file_total_emptied AFTER UPDATE ON file_total
WHEN NEW.files = 0 AND NEW.bytes = 0 AND NEW.user <> '' BEGIN
    DELETE FROM file_total WHERE tenant = NEW.tenant AND user = NEW.user;
END;
CREATE TRIGGER file_blob_added AFTER INSERT ON file_blob BEGIN
    INSERT INTO file_total
    SELECT NEW.tenant, '', 0, NEW.size UNION ALL SELECT NEW.tenant, NEW.user, 0, NEW.size WHERE NEW.user IS NOT NULL
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER file_blob_changed AFTER UPDATE OF user, size ON file_blob BEGIN
    INSERT INTO file_total
    SELECT NEW.tenant, '', 0, NEW.size - OLD.size
    UNION ALL SELECT OLD.tenant, OLD.user, 0, -OLD.size WHERE OLD.user IS NOT NULL
    UNION ALL SELECT NEW.tenant, NEW.user, 0, NEW.size WHERE NEW.user IS NOT NULL
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER file_blob_removed AFTER DELETE ON file_blob BEGIN
    UPDATE file_total SET bytes = bytes - OLD.size WHERE tenant = OLD.tenant AND user = '';
END;
CREATE TRIGGER file_added AFTER INSERT ON file BEGIN
    INSERT INTO file_total
    SELECT NEW.tenant, '', 1, 0 UNION ALL SELECT NEW.tenant, NEW.user, 1, size FROM file_blob WHERE id = NEW.blob
    ON CONFLICT DO UPDATE SET files = files + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER file_removed AFTER DELETE ON file BEGIN
    UPDATE file_total SET files = files - 1 WHERE tenant = OLD.tenant AND user = '';
    UPDATE file_total SET files = files - 1, bytes = bytes - (SELECT size FROM file_blob WHERE id = OLD.blob)
    WHERE tenant = OLD.tenant AND user = OLD.user;
END;
