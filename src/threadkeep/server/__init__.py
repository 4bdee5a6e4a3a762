"""HTTP: parse, authorise, call, serialise; `app.py` puts it together.

Only this folder decides which status an error gets. It knows nothing of how conversations are stored.
"""
