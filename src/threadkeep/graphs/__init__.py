"""LangGraph graphs as minds of assistants: Threadkeep keeps the history, the graph does the thinking."""
