"""The dialects: other names and shapes for the same conversations, for clients that were written for other servers.

Each translates names and shapes at the edge and calls what the native routes call, so a conversation made in one
dialect is available in all the others.
"""
