"""Properties of masking: whatever a secret wears and however its text is cut, it does not come through (MASK-1)."""

import base64
import itertools
import json
import re
import string
import textwrap
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.vault.masking import Masker

# What generators make: no secret of theirs is a word that ordinary text holds by chance.
_ENDS = string.ascii_letters + string.digits
SECRETS = st.builds(
    "{}{}{}".format,
    st.sampled_from(_ENDS),
    st.text(alphabet=_ENDS + "+/=_-.!#$%&*:~\\\"' éжü漢", min_size=10, max_size=60),
    st.sampled_from(_ENDS),
)
# Ordinary text around a secret: nothing that could be a part of it, so that what remains can be told apart.
PROSE = st.text(alphabet="ABCDEFG hijkl.,;()\n\tжü漢", max_size=40)


def _hex_dump(value: str) -> str:
    return " ".join(f"{byte:02x}" for byte in value.encode())


EDGE = 8  # characters of base64: those of one group before the secret, and of one behind it

CLOTHES: Final[dict[str, Callable[[str], str]]] = {
    "plain": lambda value: value,
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 for URLs": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "base64 after one byte": lambda value: base64.b64encode(b":" + value.encode() + b"\n").decode(),
    "base64 after two bytes": lambda value: base64.b64encode(b"u:" + value.encode()).decode(),
    "base64 in lines": lambda value: textwrap.fill(base64.b64encode(value.encode()).decode(), 12),
    "percent": lambda value: quote(value, safe=""),
    "percent, lower case": lambda value: re.sub("%..", lambda found: found.group().lower(), quote(value, safe="")),
    "form": lambda value: quote_plus(value),  # noqa: PLW0108 - an overloaded function is no Callable of one type
    "percent twice": lambda value: quote(quote(value, safe=""), safe=""),
    "every byte percent": lambda value: "".join(f"%{byte:02X}" for byte in value.encode()),
    "JSON": lambda value: json.dumps(value)[1:-1],
    "JSON, characters kept": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda value: json.dumps(json.dumps(value))[1:-1],
    "hex": lambda value: value.encode().hex(),
    "hex, upper case": lambda value: value.encode().hex().upper(),
    "hex dump": _hex_dump,
    "hex with colons": lambda value: value.encode().hex(":"),
    "C escapes": lambda value: "".join(f"\\x{byte:02x}" for byte in value.encode()),
    "in lines": lambda value: "\n  ".join(value[at : at + 7] for at in range(0, len(value), 7)),
    "one character a line": lambda value: "\n".join(value),  # noqa: PLW0108 - as above
    "base32": lambda value: base64.b32encode(value.encode()).decode(),
    "base32 after one byte": lambda value: base64.b32encode(b":" + value.encode()).decode(),
    "octal": lambda value: "".join(f"\\{byte:03o}" for byte in value.encode()),
    "letters in braces": lambda value: "".join(f"\\u{{{ord(sign):x}}}" for sign in value),
    "letters of eight digits": lambda value: "".join(f"\\U{ord(sign):08x}" for sign in value),
    "quoted-printable": lambda value: "".join(f"={byte:02X}" for byte in value.encode()),
    "quoted in mail": lambda value: "\n> ".join(value[at : at + 7] for at in range(0, len(value), 7)),
    "in colours": lambda value: f"{value[:5]}\x1b[01;31m{value[5:]}",
    "numbers": lambda value: ", ".join(str(byte) for byte in value.encode()),
    "UTF-16 in base64": lambda value: base64.b64encode(value.encode("utf-16-le")).decode(),
}


def _pieces(text: str, cuts: list[int]) -> list[str]:
    marks = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in itertools.pairwise(marks)]


def _streamed(masker: Masker, text: str, cuts: list[int]) -> str:
    stream = masker.stream()
    return "".join([*(stream.feed(piece) for piece in _pieces(text, cuts)), stream.flush()])


@pytest.mark.clause("MASK-1", "JRN-4")
@settings(max_examples=400, deadline=None)
@given(
    secret=SECRETS, wear=st.sampled_from(sorted(CLOTHES)), before=PROSE, after=PROSE, cuts=st.lists(st.integers(0, 500))
)
def test_a_lent_value_leaks_in_no_encoding_and_over_no_cut(
    secret: str, wear: str, before: str, after: str, cuts: list[int]
) -> None:
    """The dressed secret is gone from the whole text and from its stream, and its handle stands there instead."""
    if len(re.sub("[ +\"'\\\\]", "", secret)) < 8:
        return
    masker = Masker()
    masker.lend("api", secret)
    dressed = CLOTHES[wear](secret)
    text = f"{before} {dressed} {after}"
    for shown in (masker.text(text), _streamed(masker, text, cuts)):
        assert "«secret:api»" in shown
        # What stood around the secret in its groups of base64 may remain, and nothing else.
        assert len(shown.replace("«secret:api»", "")) <= len(f"{before}  {after}") + EDGE


@pytest.mark.clause("MASK-1")
@settings(max_examples=200, deadline=None)
@given(secret=SECRETS, text=st.text(max_size=300), cuts=st.lists(st.integers(0, 400)))
def test_ordinary_text_comes_through_whole_and_in_pieces(secret: str, text: str, cuts: list[int]) -> None:
    """Text that holds no secret is not changed, and nothing of it is lost or moved in a stream."""
    masker = Masker()
    masker.lend("api", f"Xq7{secret}Zk9")
    text = text.replace("Xq7", "")
    if masker.text(text) == text:
        assert _streamed(masker, text, cuts) == text


@pytest.mark.clause("MASK-1")
@settings(max_examples=200, deadline=None)
@given(
    words=st.lists(
        st.sampled_from(
            [
                "Authorization: Bearer abcdef0123456789abcdef\n",
                "MY_SERVICE_TOKEN=abc123randomopaque999 ",
                '{"client_secret":"GOCSPX-1a2b3c4d5e6f7g8h"} ',
                "postgres://app:hunter2pass@db.example.org/x ",
                "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk=\n-----END OPENSSH PRIVATE KEY-----\n",
                "ghp_16C7e42F292c6912E7710c838347Ae178B4a ",
                "Cookie: theme=dark; sid=9f8e7d6c5b4a39281706\n",
                "password: hunter2\n",
                "and then we went home. ",
                "x = y + z\n",
            ]
        ),
        max_size=8,
    ),
    cuts=st.lists(st.integers(0, 600)),
)
def test_a_stream_masks_typical_forms_as_the_whole_text_is_masked(words: list[str], cuts: list[int]) -> None:
    """Pieces put together give what the whole gives, wherever the cuts fall; masking a second time changes nothing."""
    masker = Masker()
    text = "".join(words)
    whole = masker.text(text)
    assert _streamed(masker, text, cuts) == whole
    assert masker.text(whole) == whole
    for value in ("abcdef0123456789", "abc123random", "1a2b3c4d5e6f", "hunter2", "b3BlbnNz", "16C7e42F", "9f8e7d6c"):
        assert value not in whole
