-- Who answers in a conversation can be changed.
ALTER TYPE threadkeep.change ADD ATTRIBUTE assistant text;
