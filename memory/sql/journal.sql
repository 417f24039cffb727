-- tip: Who may write, and where the chain ends.
SELECT generation, seq, hash FROM chain_tip WHERE id = 1;

-- take_over: A new writer begins a new generation; every older one is refused from here on.
UPDATE chain_tip SET generation = generation + 1 WHERE id = 1 RETURNING generation;

-- move_tip: The chain ends at the batch's last event.
UPDATE chain_tip SET seq = ?, hash = ? WHERE id = 1;

-- append: One event joins the chain.
INSERT INTO events (seq, at_us, turn, kind, body, hash) VALUES (?, ?, ?, ?, ?, ?);

-- has_body: Whether a body is stored already.
SELECT 1 FROM bodies WHERE hash = ?;

-- add_body: One body, compressed, under the hash of what it was.
INSERT INTO bodies (hash, packed) VALUES (?, ?);

-- body: One body.
SELECT packed FROM bodies WHERE hash = ?;

-- bodies: The bodies in the order of their hashes, a page at a time.
SELECT hash, packed FROM bodies WHERE hash > ? ORDER BY hash LIMIT ?;

-- last_seq: The number of the last event.
SELECT coalesce(max(seq), 0) FROM events;

-- chain: The rows of the chain with all that its hashes cover, a page at a time.
SELECT seq, at_us, turn, kind, body, hash FROM events WHERE seq > ? ORDER BY seq LIMIT ?;

-- hash_at: The hash of one event.
SELECT hash FROM events WHERE seq = ?;

-- oldest: Events between two numbers, oldest first, of some kinds (a JSON list) or all.
SELECT seq, at_us, turn, kind, body FROM events
WHERE seq > ?1 AND seq < ?2 AND (?3 IS NULL OR kind IN (SELECT value FROM json_each(?3)))
ORDER BY seq LIMIT ?4;

-- newest: The same, newest first.
SELECT seq, at_us, turn, kind, body FROM events
WHERE seq > ?1 AND seq < ?2 AND (?3 IS NULL OR kind IN (SELECT value FROM json_each(?3)))
ORDER BY seq DESC LIMIT ?4;

-- oldest_of_turn: The events of one turn between two numbers, oldest first.
SELECT seq, at_us, turn, kind, body FROM events INDEXED BY events_of_turn
WHERE turn = ?5 AND seq > ?1 AND seq < ?2 AND (?3 IS NULL OR kind IN (SELECT value FROM json_each(?3)))
ORDER BY seq LIMIT ?4;

-- newest_of_turn: The same, newest first.
SELECT seq, at_us, turn, kind, body FROM events INDEXED BY events_of_turn
WHERE turn = ?5 AND seq > ?1 AND seq < ?2 AND (?3 IS NULL OR kind IN (SELECT value FROM json_each(?3)))
ORDER BY seq DESC LIMIT ?4;

-- whole: SQLite's own check of pages and indexes; "ok" or what it found first.
PRAGMA integrity_check(1);
