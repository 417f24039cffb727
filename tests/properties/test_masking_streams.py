"""What a stream passes on is what masking makes of the whole text, wherever the pieces were cut (MASK-1)."""

import base64
import functools
import itertools
import json
import shutil
import subprocess
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.vault.masking import Masker
from tests.unit.host.vault.test_spellings import WAYS

LENT: Final = {"api": "s3cr3t-Value/42+x==", "key": "kJ8sd9f7Gh2kLmN0pQrS", "long": "Zx9" + "qW3-eR7_tY" * 9}

DUMPS: Final = (
    *("xxd", "xxd -c 4", "xxd -g1", "xxd -g4", "xxd -e", "xxd -p", "hexdump", "hexdump -C", "hexdump -x"),
    *("hexdump -c", "hexdump -b", "hexdump -d", "hexdump -o", "od", "od -c", "od -x", "od -b", "od -t x1", "od -t x1z"),
    *("od -t x1c", "od -t u1", "od -t x4", "od -A n -t x1", "od -A n -x", "od -A x -t x1", "od -A n"),
)
TYPICAL: Final = (
    "Authorization: Bearer abcdef0123456789abcdef\n",
    "MY_SERVICE_TOKEN=abc123randomopaque999 make\n",
    '{"client_secret": "GOCSPX-1a2b3c4d5e6f7g8h", "a": 1}',
    "postgres://app:hunter2pass@db.example.org/x ",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a ",
    "Cookie: theme=dark; sid=9f8e7d6c5b4a39281706\n",
    "password: hunter2!x\n",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n",
)
ORDINARY: Final = (
    "and then we went home. ",
    "x = y + z\n",
    "row 12\n",
    "2026 10 20 30\n",
    "> quoted\n",
    "café 漢字 ",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk\n",
    "3f786850e387550fdab836ed7e6dc881de23001b ",
    "12, 13, 14, 15, 16, 17\n",
    "00000000: 4142 4344  ABCD\n",
    "\n",
    "    indented\n",
)


def _program(words: str) -> Callable[[str], str]:
    """Return what a program makes of a text; the program must be there."""
    name, *options = words.split()
    path = shutil.which(name)
    assert path is not None, f"{name} is not installed"

    def dumped(text: str) -> str:
        done = subprocess.run([path, *options], input=text.encode(), capture_output=True, check=True)
        return done.stdout.decode()

    return dumped


def _in_front(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}" for line in text.splitlines(keepends=True))


def _twice(value: str) -> str:
    return base64.b64encode(base64.b64encode(value.encode())).decode()


def _wrapped(value: str) -> str:
    return base64.encodebytes(base64.encodebytes(b"before " * 9 + value.encode())).decode()


BESIDE: Final[dict[str, Callable[[str], str]]] = {
    "base64 of base64": _twice,
    "base64 of base64 in lines": _wrapped,
    "base64 of JSON of percent": lambda value: base64.b64encode(json.dumps([quote(value, safe="")]).encode()).decode(),
    "two in one": lambda value: value + LENT["key"] + value,
}


@functools.cache
def pieces() -> list[str]:
    """Everything that texts are put together from."""
    made = [*TYPICAL, *ORDINARY]
    for value in LENT.values():
        made += [way(value) for way in (*WAYS.values(), *BESIDE.values())]
        for words in DUMPS:
            dump = _program(words)(f"abcdefg{value}\nand more of it")
            made += [dump, _in_front(_program(words)(value), "line ")]
    return made


def _streamed(masker: Masker, text: str, cuts: list[int]) -> str:
    marks = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    stream = masker.stream()
    shown = [stream.feed(text[start:end]) for start, end in itertools.pairwise(marks)]
    return "".join([*shown, stream.flush()])


def _lending() -> Masker:
    masker = Masker()
    for name, value in LENT.items():
        masker.lend(name, value)
    return masker


@pytest.mark.clause("MASK-1")
@settings(max_examples=300, deadline=None)
@given(
    chosen=st.lists(st.tuples(st.integers(0, 100_000), st.sampled_from(["", " ", "\n"])), max_size=6),
    cuts=st.lists(st.integers(0, 100_000), max_size=12),
)
def test_pieces_give_what_the_whole_gives(chosen: list[tuple[int, str]], cuts: list[int]) -> None:
    """Lent values in every spelling, dumps, typical forms and ordinary text in any order, cut anywhere."""
    masker = _lending()
    text = "".join(pieces()[at % len(pieces())] + behind for at, behind in chosen)
    assert _streamed(masker, text, cuts) == masker.text(text)


@pytest.mark.clause("MASK-1")
def test_a_single_cut_changes_nothing_in_any_spelling() -> None:
    """Each piece between two words, cut once in a dozen places."""
    masker = _lending()
    for at, piece in enumerate(pieces()):
        text = f"some words\n{piece} and more\nnext line\n"
        whole = masker.text(text)
        step = 1 + len(text) // 11
        assert all(_streamed(masker, text, [cut]) == whole for cut in range(1 + at % step, len(text), step)), text
