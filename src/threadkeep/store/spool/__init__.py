"""The spool: what an instance keeps on its own disk while the database is away, and writes to the database afterwards.

`spooling` is the store around both, `outage` how it asks the database, `memory` what it knows of conversations, `kept`
those in the spool, `copies` how one is kept there, `draining` the way back, `keyring` who may come in meanwhile.
"""
