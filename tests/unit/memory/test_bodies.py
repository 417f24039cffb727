"""Bodies alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import bodies
from memory.errors import JournalDamaged


@pytest.mark.clause("JRN-1")
@given(st.binary(max_size=2_000))
def test_a_body_comes_back_as_it_was(data: bytes) -> None:
    """Packing and unpacking change nothing, for any content, also none."""
    packed = bodies.pack(data)
    assert packed.hash == bodies.address(data)
    assert bodies.unpack(packed.hash, packed.packed) == data


@pytest.mark.clause("JRN-1")
@pytest.mark.parametrize("packed", [bodies.compress(b"something else"), b"no frame", b""])
def test_a_body_that_is_not_its_hash_is_damaged(packed: bytes) -> None:
    """Other content, or no content at all, is named by the hash it should have."""
    digest = bodies.address(b"something")
    with pytest.raises(JournalDamaged, match=digest.hex()):
        bodies.unpack(digest, packed)
