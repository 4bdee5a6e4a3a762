"""Who sent a request, and how a caller proves it: API keys, logins, or nothing on a loopback address."""
