"""Retrieval: documents that an assistant can look things up in. The contract is in `base`."""
