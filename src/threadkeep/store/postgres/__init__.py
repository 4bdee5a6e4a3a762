"""The PostgreSQL backend: what happens inside the database is in `migrations/` and `functions/`, the rest calls it."""
