"""A ring: conversations as readable files in a folder, which other programs may change, beside an SQLite store."""
