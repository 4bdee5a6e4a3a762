"""A conversation as a self-contained HTML file: no scripts, nothing loaded, all content escaped or sanitised."""
