"""Webhooks: what happens in the conversations of a tenant is sent to addresses of its own, signed, at least once and in
order for each conversation, from the log itself."""
