"""What tests of Threadkeep, and of what others build on it, are made of: a conformance suite, a clock that tests set.

Nothing in the product imports this package. `conformance` needs pytest and pytest-asyncio; the rest needs neither.
"""
