"""Amounts as people read them."""


def money(amount: int, currency: str = "") -> str:
    """Return an amount with separators, and its currency if there is one: "-4,200 EUR"."""
    return f"{amount:,} {currency}".rstrip()
