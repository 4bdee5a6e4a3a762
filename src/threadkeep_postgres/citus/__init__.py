"""What only a database that Citus distributes needs: migrating distributes tables and functions by tenant, and a server
that opens it says what is not as it should be."""
