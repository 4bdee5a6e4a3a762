"""The spool: what an instance keeps on its own disk while the database is away, and writes to the database afterwards.

`spooling` is the store around both, `outage` tells whether the database is away, `memory` what is known of it,
`spool_file` is the embedded store for conversations of an outage, `draining` the way back.
"""
