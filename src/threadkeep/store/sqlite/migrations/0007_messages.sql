-- Messages are counted by a number that is kept with each entry: how many the log holds up to it, of all branches. It can be
-- derived again from the kinds, so that the checksum leaves it out.
ALTER TABLE entry ADD COLUMN messages INTEGER;
UPDATE entry SET messages = counted.messages FROM (
    SELECT position, sum(kind < 8) OVER (PARTITION BY tenant, conversation ORDER BY seq) AS messages FROM entry
) counted WHERE entry.position = counted.position;
DROP TABLE milestone;
