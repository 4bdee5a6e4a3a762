"""A conversation as a self-contained HTML file: no scripts, nothing loaded, everything that was said made harmless."""
