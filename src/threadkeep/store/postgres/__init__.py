"""The PostgreSQL backend: what happens inside the database is in `migrations/`, the rest calls it."""
