"""What every request passes through before a route sees it; `app.py` puts it in order."""
