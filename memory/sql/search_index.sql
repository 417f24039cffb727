-- The search index of a journal: a file of its own beside it, made from it and dropped without loss.

DROP TABLE IF EXISTS mark;
DROP TABLE IF EXISTS words;
DROP TABLE IF EXISTS parts;

CREATE TABLE mark (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;

INSERT INTO mark (id, version, seq, hash) VALUES (1, 0, 0, zeroblob(32));

-- The texts themselves stay in the journal; here is only where each word occurs.
CREATE VIRTUAL TABLE words USING fts5 (
    shadow, content = '', tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co M*'"
);

CREATE VIRTUAL TABLE parts USING fts5 (folded, content = '', tokenize = "trigram case_sensitive 1");
