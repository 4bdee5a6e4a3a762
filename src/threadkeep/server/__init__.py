"""HTTP: parse, authorise, call, serialise; `app.py` puts it together.

Which status an error gets is decided here and nowhere else. What a conversation is and how it is stored is not.
"""
