"""The spool: what an instance keeps on its own disk while the database is away, and how that gets into it afterwards.

`spooling` is the store around both, `memory` what it knows of conversations, `copies` how one is kept in the spool,
`draining` the way back, `keyring` who may come in meanwhile.
"""
