"""assistant-ui: the routes of `assistant-cloud`, its list of threads and its trees of messages, over conversations."""
