-- has_mark: Whether the index has its tables.
SELECT count(*) FROM sqlite_schema WHERE name = 'mark';

-- mark: Up to which event the index reaches, and by which analyser.
SELECT version, seq, hash FROM mark WHERE id = 1;

-- move_mark: The index reaches up to another event.
UPDATE mark SET version = ?, seq = ?, hash = ? WHERE id = 1;

-- add_words: The tokens of one event.
INSERT INTO words (rowid, shadow) VALUES (?, ?);

-- add_parts: The folded text of one event, for parts of words.
INSERT INTO parts (rowid, folded) VALUES (?, ?);

-- ranked_words: The newest events that match an expression of tokens, with their score (less is better).
SELECT rowid, bm25(words) FROM words WHERE words MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?;

-- newest_words: The same without scores.
SELECT rowid FROM words WHERE words MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?;

-- newest_parts: The newest events that hold pieces of text.
SELECT rowid FROM parts WHERE parts MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?;

-- unindexed: The events between two numbers, to be indexed or searched directly.
SELECT seq, at_us, turn, kind, body, hash FROM events WHERE seq > ? AND seq < ? ORDER BY seq LIMIT ?;

-- some: Some events by number (a JSON list).
SELECT seq, at_us, turn, kind, body FROM events WHERE seq IN (SELECT value FROM json_each(?));
