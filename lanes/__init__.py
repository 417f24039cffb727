"""Lanes: who waits for whom. Threads with loops, mailboxes and priorities; knows nothing of turns, gates or policy."""
