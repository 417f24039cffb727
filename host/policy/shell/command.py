"""One command that a text would run, wrappers taken off, with what was found out about it."""

import enum
import hashlib
import re
import shlex
from functools import cached_property
from typing import Final

import msgspec

from host.passport import Effect
from host.policy.shell.floor import Floor
from host.policy.shell.setting import inside, joined
from host.policy.shell.word import Word

_SHOWN_CHARS: Final = 100  # of a text that rules a command


class Once(enum.StrEnum):
    """Why a command is asked about each time, whatever was granted (POL-9)."""

    RAISES_RIGHTS = "raises-rights"  # sudo, su, doas, pkexec, setuid bits
    RUNS_DOWNLOAD = "runs-download"  # what was fetched is given to an interpreter


class Command(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One inner command: what policy, grants and people look at."""

    words: tuple[Word, ...]  # its name and arguments; empty for a redirection or assignment that stands alone
    assignments: tuple[tuple[str, Word], ...] = ()  # variables that are set for it
    writes: tuple[Word, ...] = ()  # what its redirections write to, where that matters
    where: str = ""  # wrappers under which it is something else than by itself ("ssh host", "chroot /x"); "" is here
    perhaps: bool = False  # its name only stands in a text that may be prose
    effect: Effect = Effect.EXECUTE  # read when it provably only reads
    why: str = ""  # what keeps it from only reading, in words; "" when it does
    floor: Floor | None = None  # the hard floor it is on
    once: frozenset[Once] = frozenset()  # why it is asked about each time
    known: bool = True  # whether every word is known; a command of guesses is never granted
    folder: str = ""  # that its text enters before all else; "" is where it starts
    setting: tuple[str, ...] | None = ()  # the texts that rule what it does, outermost first; None: not all is known
    given: str = ""  # of a program that runs what it reads: the text, where it is told

    @cached_property
    def text(self) -> str:
        """The canonical form: the same for every way of writing the same command (APR-2)."""
        parts = [f"{name}={_quoted(value)}" for name, value in self.assignments]
        parts += [_quoted(word) for word in self.words]
        parts += [f"> {_quoted(target)}" for target in self.writes]
        text = " ".join(parts)
        return f"{self.where}: {text}" if self.where else text

    def placed(self, cwd: str = "") -> str:
        """Return all that decides what it does, as one line: the canonical form, the folder, the texts that rule it.

        `cwd` is the folder that the whole text was started in. Raises ValueError where not all of that is known.
        """
        if self.setting is None:
            message = "not all that rules this command is known"
            raise ValueError(message)
        folder = inside(joined(cwd, self.folder))
        found = f"{self.text} (in {shlex.quote(folder)})" if folder else self.text
        if not self.setting:
            return found
        digest = hashlib.blake2b(digest_size=16)
        for text in self.setting:
            encoded = text.encode("utf-8", "replace")
            digest.update(len(encoded).to_bytes(8) + encoded)
        shown = " ".join(self.setting[0].split())
        shown = shown if len(shown) <= _SHOWN_CHARS else f"{shown[:_SHOWN_CHARS]}…"
        return f"{found} (as in: {shown} #{digest.hexdigest()})"


def _quoted(word: Word) -> str:
    """Return a word for a shell; one that is not known as it was written, which no known word looks like."""
    if word.known:
        return shlex.quote(word.text)
    source = re.sub(r"\s+", " ", word.shown)
    return source if re.search(r"[$`*?\[{~<>]", source) else f"$({source})"
