"""Conversations for programs that speak MCP (Claude, ChatGPT, Cursor …): tools and resources at `/mcp`.

The package `mcp` speaks the protocol; it is imported where the server is switched on, and nowhere else.
"""
