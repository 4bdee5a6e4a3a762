-- What this file alone knows, to hide from clients what is none of their business.
CREATE TABLE secret (value BLOB NOT NULL) STRICT;
INSERT INTO secret (value) VALUES (randomblob(32));
