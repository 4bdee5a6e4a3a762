"""A ring: the commands of those who operate a store, which need nothing of the core but its front door.

What a server itself cannot begin without stays in the core: serving, migrations, and trust in a file of settings.
"""
