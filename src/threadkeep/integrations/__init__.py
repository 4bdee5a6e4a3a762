"""Adapters for other frameworks and other styles of calling. They stand on top: nothing else imports them."""
