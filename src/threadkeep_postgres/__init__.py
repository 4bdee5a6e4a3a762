"""A ring: conversations in PostgreSQL, and what an instance keeps on its own disk while that is away (`spool`).

It stands on the contract and the rules of a store (`threadkeep.store`), and the spool on the embedded store as well.
The core finds it by entry points, in `opening` and `spool.opening`. Its driver is an extra.
"""
