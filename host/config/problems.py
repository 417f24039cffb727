"""What is wrong with a settings file, collected so that a person mends it in one go.

The readers and rules of this folder add to a `Problems`; `host.config.load` turns it into the one error. A problem
names the key by its dotted path, what is wrong and the remedy, and never repeats a value, which may be a secret.
"""

import difflib
import re
from collections.abc import Iterable
from typing import Final

import msgspec

from host.errors import ElisError, SettingsError, Unsupported

_HIDDEN: Final = "«…»"
_WORDS: Final = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z]+)*\Z")
_NAMES: Final = re.compile(r"[A-Za-z]*[0-9]{0,4}(?:[_-]+(?:[A-Za-z]+[0-9]{0,4}|[0-9]{1,4}))*\Z")
_LONGEST_NAME: Final = 24  # characters of a name that joins letters and digits; keys and tokens are rarely shorter
_LONGEST_WORD: Final = 40


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong."""

    key: str  # dotted path; empty for the file as a whole
    wrong: str
    remedy: str
    later: bool = False  # right in itself, but this version does not do it yet

    def line(self) -> str:
        """Return the problem in one line that can be shown on a terminal, whatever stands in a key."""
        text = f"{_shown(self.key)}: {self.wrong}; {self.remedy}" if self.key else f"{self.wrong}; {self.remedy}"
        return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


class Problems:
    """The problems found so far in one file."""

    def __init__(self, source: str) -> None:
        """Collect for the file named `source`."""
        self._source = source
        self._found: list[Problem] = []

    def __bool__(self) -> bool:
        """Whether something is wrong beyond what only a later version does."""
        return any(not problem.later for problem in self._found)

    def add(self, key: str, wrong: str, remedy: str) -> None:
        """Note that `key` is wrong."""
        self._found.append(Problem(key=key, wrong=wrong, remedy=remedy))

    def later(self, key: str, wrong: str, remedy: str) -> None:
        """Note that `key` asks for what this version does not do."""
        self._found.append(Problem(key=key, wrong=wrong, remedy=remedy, later=True))

    def unknown(self, key: str, valid: Iterable[str]) -> None:
        """Note a key that does not exist, with the nearest of those that do."""
        known = list(valid)
        parent, _, name = key.rpartition(".")
        near = nearest(name, known)
        remedy = f"did you mean `{near}`?" if near else "take it out"
        where = f"[{_shown(parent)}]" if parent else "the file"
        # A table may have been given a value for a name, so what is no misspelling is shown only if it is words.
        if not near and (parent.startswith("secrets") or not _WORDS.match(name) or len(name) > _LONGEST_WORD):
            key = join(parent, _HIDDEN)
        self.add(key, "unknown key", f"{remedy} ({where} may hold {', '.join(known)})")

    def error(self) -> ElisError | None:
        """Return the one error for all of it: Unsupported if that is all that is wrong, else SettingsError."""
        if not self._found:
            return None
        lines = [problem.line() for problem in self._found]
        joined = f"{self._source}: {lines[0]}" if len(lines) == 1 else "\n  ".join([f"{self._source}:", *lines])
        return SettingsError(joined) if self else Unsupported(joined)


def _shown(key: str) -> str:
    """Return a dotted path in which no part is left that may be a secret: of generated or mixed characters."""
    return ".".join(part if _is_name(part) else _HIDDEN for part in key.split("."))


def _is_name(part: str) -> bool:
    bare = part.partition("[")[0].strip('"')  # a place in a list may stand behind a name
    if part == _HIDDEN or len(bare) < _LONGEST_NAME // 2:
        return True
    if len(bare) > _LONGEST_WORD:
        return False
    mixed = bare != bare.lower() and bare != bare.upper() and any(sign.isdigit() for sign in bare)
    return _WORDS.match(bare) is not None or (not mixed and _NAMES.match(bare) is not None)


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return the valid name that `name` was probably meant to be, or nothing."""
    close = difflib.get_close_matches(name.lower(), list(valid), n=1, cutoff=0.5)
    return close[0] if close else ""


def join(key: str, name: str) -> str:
    """Return the dotted path of `name` beneath `key`."""
    return f"{key}.{name}" if key else name
