"""LangGraph graphs as agents of assistants: Threadkeep keeps the history, the graph does the thinking."""
