"""The vocabulary of all scripted assistants: `words` says what a text holds, `references` what it points back at."""
