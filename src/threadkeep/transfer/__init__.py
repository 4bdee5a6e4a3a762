"""Conversations on their way in and out: formats are read and written here, and stores are filled from them."""
