"""The command line: `main.py` finds the command, one file per group of commands does the work.

Nothing here decides anything about conversations; a command reads its arguments, calls, and prints.
"""
