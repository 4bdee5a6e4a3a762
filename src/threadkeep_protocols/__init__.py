"""Protocols of other servers and frameworks on the same conversations: their names and shapes, on the front door.

A ring around the core: each protocol is a function that makes a router of conversations and settings, named by an entry
point in `threadkeep.protocols`.
"""
