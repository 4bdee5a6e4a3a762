"""The command line: `main.py` finds the command, one file per group of commands does the work.

Commands read their arguments, call the engine, and print; nothing about conversations is decided here.
"""
