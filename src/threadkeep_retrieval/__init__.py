"""Looking things up: an index of documents, follow-ups made to stand alone, routes, what words and texts mean.

A ring around the core, which knows the contracts of `threadkeep.turn.lookup` and reaches this package by entry points.
The contracts of what lies behind them are in `base` and `embeddings`.
"""
