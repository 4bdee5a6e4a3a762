"""The spool: what an instance keeps on its own disk while the database is away, and writes to the database afterwards.

`spooling` and `passing` are the store around both, `outage` how it asks the database, `memory` what it knows of
conversations, `spool_file` the embedded store that keeps those of an outage, `kept` which they are, `draining` the way
back, `remembering` who may come in meanwhile, and files.
"""
