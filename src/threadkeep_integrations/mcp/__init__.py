"""Tools of MCP servers: what speaks the protocol, and ends the programs that it has started."""
