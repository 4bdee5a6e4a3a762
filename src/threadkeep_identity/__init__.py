"""A ring: ways to sign in beside API keys. JSON Web Tokens of an issuer, OpenID Connect for the page, tokens of minutes
for browsers, a header of an authenticating proxy, and a guard of one's own."""
