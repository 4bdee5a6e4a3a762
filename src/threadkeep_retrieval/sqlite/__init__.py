"""The index in one SQLite file: words by FTS5, vectors by sqlite-vec. `retrieval.hybrid` is the way in."""
