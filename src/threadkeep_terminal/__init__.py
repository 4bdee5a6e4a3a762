"""A ring: `threadkeep chat`, which talks with an assistant in the terminal."""
