#!/bin/sh
# Make the roles and the database, as docs/howto/use-postgresql.md explains them. Run it as an administrator of the database,
# with the usual variables of PostgreSQL (PGHOST, PGUSER ...) or as the first start of the postgres image does.
set -eu
psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --username "${PGUSER:-${POSTGRES_USER:-postgres}}" --dbname postgres \
    --set owner_password="${OWNER_PASSWORD:?}" --set server_password="${SERVER_PASSWORD:?}" <<'SQL'
CREATE ROLE threadkeep_server NOLOGIN;
CREATE ROLE threadkeep_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE threadkeep_app LOGIN PASSWORD :'server_password' IN ROLE threadkeep_server;
CREATE DATABASE threadkeep OWNER threadkeep_owner;
SQL
