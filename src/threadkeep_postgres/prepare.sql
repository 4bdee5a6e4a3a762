-- Before migrating: one migrates at a time, and there is a list of what was applied.
CREATE SCHEMA IF NOT EXISTS threadkeep;
CREATE TABLE IF NOT EXISTS threadkeep.migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
-- The digest of the functions as they were made last.
CREATE TABLE IF NOT EXISTS threadkeep.definition (digest text NOT NULL);
LOCK TABLE threadkeep.migration IN EXCLUSIVE MODE;
