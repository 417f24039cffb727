"""Memory in three layers: the journal, the digest and the memory base. Knows nothing of turns, gates or policy."""
