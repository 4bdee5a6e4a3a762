"""Threadkeep keeps conversations with language models.

Importing this package is cheap: it loads no driver, no server and no vendor. Everything else is imported from the
module that defines it.
"""

__version__ = "0.1.0"
