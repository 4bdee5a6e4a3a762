-- Each word in the index begins with the key of its owner without the last two digits and a colon: what a hundred people have said
-- stands together, apart from what all others have, so that a search reads no more of the index when there are more of them. Words
-- keep nothing of that in the table itself.
DROP INDEX threadkeep.word_by_words;
CREATE INDEX word_by_words ON threadkeep.word USING gin (array_to_tsvector(string_to_array(substr(
    replace(' ' || words, ' ', ' ' || left(split_part(split_part(words, ' ¤u', 2), ' ', 1), -2) || ':'), 2
), ' '))) WITH (fastupdate = off);
ALTER INDEX threadkeep.word_by_words ALTER COLUMN 1 SET STATISTICS 0;
