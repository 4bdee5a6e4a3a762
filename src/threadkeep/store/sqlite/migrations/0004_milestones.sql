-- How many messages a log holds up to every 256th entry, of all branches: see milestones.py.
CREATE TABLE milestone (
    tenant INTEGER NOT NULL,
    conversation INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    PRIMARY KEY (tenant, conversation, seq)
) STRICT, WITHOUT ROWID;

-- A part of a log that has not reached its milestone is left out; it can only be the last one.
INSERT INTO milestone
SELECT tenant, conversation, (part + 1) * 256, sum(messages) OVER (PARTITION BY tenant, conversation ORDER BY part)
FROM (
    SELECT tenant, conversation, (seq - 1) / 256 AS part, count(*) AS entries, sum(kind < 8) AS messages
    FROM entry GROUP BY tenant, conversation, part
) WHERE entries = 256;
