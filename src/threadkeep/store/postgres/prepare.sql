-- Before each migration: one migrates at a time, and there is a list of what was applied.
SELECT pg_advisory_xact_lock(1953002091, 0);
CREATE SCHEMA IF NOT EXISTS threadkeep;
CREATE TABLE IF NOT EXISTS threadkeep.migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
