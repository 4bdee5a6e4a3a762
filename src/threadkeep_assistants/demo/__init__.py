"""The scripted model `demo`: what it plays, and how an assistant writes a script of its own."""
