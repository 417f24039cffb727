"""The hash chain alone."""

import hashlib

import pytest

from memory import chain


@pytest.mark.clause("JRN-1")
def test_a_hash_is_blake2b_over_the_hash_before_it_and_every_column() -> None:
    """The exact bytes are fixed: another program can verify a journal from this description."""
    covered = chain.GENESIS
    covered += (1).to_bytes(8, "little") + (1_700_000_000_000_000).to_bytes(8, "little")
    covered += (2).to_bytes(4, "little") + (4).to_bytes(4, "little") + b"t1" + b"said" + b"{}"
    expected = hashlib.blake2b(covered, digest_size=32).digest()
    assert chain.link(chain.GENESIS, 1, 1_700_000_000_000_000, "t1", "said", b"{}") == expected


@pytest.mark.clause("JRN-1")
def test_the_same_event_has_another_hash_after_another_past() -> None:
    """An altered row changes every hash after it."""
    first = chain.link(chain.GENESIS, 1, 0, "", "said", b"one")
    altered = chain.link(chain.GENESIS, 1, 0, "", "said", b"two")
    assert chain.link(first, 2, 0, "", "said", b"x") != chain.link(altered, 2, 0, "", "said", b"x")
