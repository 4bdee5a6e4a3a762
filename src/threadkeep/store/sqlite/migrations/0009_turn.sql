-- How often a turn was taken up is told by the log; nobody read it here.
ALTER TABLE turn DROP COLUMN taken;
