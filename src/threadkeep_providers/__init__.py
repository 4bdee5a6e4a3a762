"""A ring: models of providers that we ask ourselves over HTTP, in the forms of OpenAI, Anthropic and Gemini."""
