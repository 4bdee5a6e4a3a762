-- Which conversations a list shows: null lets everything through. The words of a title, and beginnings of words.
CREATE TYPE threadkeep.list_filter AS (
    assistant text, status text, archived boolean, metadata jsonb, words text[], prefixes text[]
);
