"""The assistants that come along, one folder each: examples of how to build on Threadkeep, useful as they are."""
