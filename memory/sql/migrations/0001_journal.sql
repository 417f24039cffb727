-- The append-only chain of events, its tip, and the bodies that events refer to by hash.

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at_us INTEGER NOT NULL,
    turn TEXT NOT NULL,
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;

CREATE INDEX events_of_turn ON events (turn);

CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
BEGIN
    SELECT raise(ABORT, 'the journal is append-only: an event is never changed');
END;

CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
BEGIN
    SELECT raise(ABORT, 'the journal is append-only: an event is never deleted');
END;

-- A REPLACE deletes without firing delete triggers; this one stops it, and gaps as well.
CREATE TRIGGER events_follow_one_another BEFORE INSERT ON events
WHEN new.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM events)
BEGIN
    SELECT raise(ABORT, 'the journal is append-only: an event takes the next number');
END;

-- One row: which writer holds the journal, and where the chain ends (rows cut off at the end show).
CREATE TABLE chain_tip (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    generation INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;

INSERT INTO chain_tip (id, generation, seq, hash) VALUES (1, 0, 0, zeroblob(32));

CREATE TABLE bodies (
    hash BLOB PRIMARY KEY,
    packed BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER bodies_are_not_changed BEFORE UPDATE ON bodies
BEGIN
    SELECT raise(ABORT, 'the journal is append-only: a body is never changed');
END;

CREATE TRIGGER bodies_are_not_deleted BEFORE DELETE ON bodies
BEGIN
    SELECT raise(ABORT, 'the journal is append-only: a body is never deleted');
END;
