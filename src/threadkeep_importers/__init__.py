"""Readers of what other programs keep: their exports as JSON, and their databases.

A ring around the core, which imports its own exports itself and reaches these readers by entry points. A reader gives
`Portable` conversations, or a `Problem` that says what is wrong with one.
"""
