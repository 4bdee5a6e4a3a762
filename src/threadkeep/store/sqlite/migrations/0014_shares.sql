-- The links that show a branch of a conversation to whoever has one, as JSON; none: null. See conversation/share.py.
ALTER TABLE conversation ADD COLUMN shares TEXT;
