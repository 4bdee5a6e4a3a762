"""How long conversations are kept: rules that decide, legal holds that overrule them, and the run that obeys both."""
