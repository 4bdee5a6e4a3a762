"""The Vercel AI SDK: its chat transport and UI message stream, for `useChat` of `ai` 5, 6 and 7."""
