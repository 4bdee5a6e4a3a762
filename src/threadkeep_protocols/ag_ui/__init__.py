"""AG-UI 1.0: runs of assistants as streams of its events, for `HttpAgent` and whatever builds on that."""
