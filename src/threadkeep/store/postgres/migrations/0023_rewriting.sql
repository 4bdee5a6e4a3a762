-- What was purged is noted until the tables are written anew. PostgreSQL keeps samples of columns for its planner: of
-- content it must not, because nobody can remove them with the content.
GRANT UPDATE (deleted_at) ON threadkeep.removal TO threadkeep_server;
ALTER TABLE threadkeep.entry ALTER content SET STATISTICS 0, ALTER parts SET STATISTICS 0;
ALTER TABLE threadkeep.chunk ALTER text SET STATISTICS 0;
ALTER TABLE threadkeep.word ALTER words SET STATISTICS 0;
ALTER TABLE threadkeep.title_word ALTER word SET STATISTICS 0;
ALTER INDEX threadkeep.word_by_words ALTER COLUMN 1 SET STATISTICS 0;
ALTER TABLE threadkeep.conversation
    ALTER title SET STATISTICS 0, ALTER metadata SET STATISTICS 0, ALTER system SET STATISTICS 0;
