"""OpenAI's Responses, Conversations and Chat Completions, for the official clients and whatever is built on them."""
