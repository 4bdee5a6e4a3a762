"""State machines: what a guided conversation may do next. The states themselves are in the log."""
