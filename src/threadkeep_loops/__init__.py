"""A ring: turns that a loop of your own runs, in Python (`running`, `turn`) and over HTTP (`routes`, `stream`)."""
