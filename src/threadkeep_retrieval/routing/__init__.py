"""Routing: does a question need the conversation around it, and which way is it answered."""
