"""Adapters for other frameworks and other styles of calling: LangChain, LangGraph, synchronous programs.

A ring around the core, which reaches it by entry points only.
"""
