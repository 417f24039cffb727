"""How the options of a command may be spelt: bundled, apart, in any order, by a short or a long name, abbreviated."""

from typing import Final

from host.policy.shell.word import Word, has_mark

# Short option → long one, for programs whose denials are common, and what it mostly means elsewhere.
_LONG: Final[dict[str, dict[str, str]]] = {
    "curl": {
        "X": "request",
        "d": "data",
        "T": "upload-file",
        "F": "form",
        "o": "output",
        "O": "remote-name",
        "k": "insecure",
        "x": "proxy",
        "H": "header",
        "L": "location",
        "u": "user",
        "K": "config",
    },
    "wget": {"O": "output-document", "i": "input-file", "r": "recursive", "P": "directory-prefix"},
    "git": {
        "f": "force",
        "d": "delete",
        "n": "dry-run",
        "u": "set-upstream",
        "a": "all",
        "m": "message",
        "v": "verbose",
    },
    "cp": {"a": "archive", "r": "recursive", "R": "recursive", "f": "force", "t": "target-directory"},
    "tar": {"x": "extract", "c": "create", "f": "file", "C": "directory", "P": "absolute-names"},
    "pip": {"U": "upgrade", "r": "requirement", "e": "editable", "t": "target", "y": "yes"},
    "npm": {"g": "global", "f": "force", "D": "save-dev", "w": "workspace"},
}
_USUAL: Final = {
    "r": "recursive",
    "R": "recursive",
    "f": "force",
    "i": "interactive",
    "v": "verbose",
    "q": "quiet",
    "y": "yes",
    "a": "all",
    "g": "global",
    "n": "dry-run",
    "o": "output",
    "d": "delete",
}
_ALIKE: Final = {"assume-yes": "yes", "extract": "get"}
# Programs whose options are words behind one dash.
_SINGLE: Final = frozenset(
    {"find", "terraform", "tofu", "java", "javac", "go", "openssl", "ffmpeg", "convert", "magick"}
)
_MOST_LETTERS: Final = 4  # that a bundle in a denial has; more behind one dash are a word


class Spelt:
    """The options of one command, in whatever way they are spelt."""

    def __init__(self, name: str, words: tuple[Word, ...]) -> None:
        """`words` begin with the program; what stands behind `--` is no option."""
        self._name = name
        end = next((at for at, word in enumerate(words) if word.text == "--" and word.known), len(words))
        self._words = words[1:end]

    def has(self, wanted: str) -> bool:
        """Whether the command has an option that a denial names, or a word that may come to it."""
        return self._any_open() or self._value_of(wanted) is not None

    def may_have(self, wanted: str) -> bool:
        """Whether it has it where a pattern for names of files comes to an option."""
        return self.has(wanted) or any(not word.known and word.text[:1] in "*?[" for word in self._words)

    def has_value(self, wanted: str, value: str) -> bool:
        """Whether the command has that option with that value, joined to it or as the next word."""
        found = self._value_of(wanted)
        return found is not None and value in found

    def _any_open(self) -> bool:
        return any(not word.known and word.could_be_option and has_mark(word.text) for word in self._words)

    def _value_of(self, wanted: str) -> set[str] | None:
        """Return what may be the values of an option, None where the command does not have it."""
        if wanted.startswith("--") or self._name in _SINGLE or len(wanted) - 1 > _MOST_LETTERS:
            return self._long(wanted)
        values: set[str] = set()
        for letter in wanted[1:]:
            found = self._letter(letter)
            if found is None:
                return self._long(wanted)
            values |= found
        return values

    def _long(self, wanted: str) -> set[str] | None:
        wanted, _, said = wanted.partition("=")
        found: set[str] | None = None
        for at, word in enumerate(self._words):
            option, equals, value = word.text.partition("=")
            if not _same(wanted, option) or (said and equals and value != said):
                continue
            found = (found or set[str]()) | {value if equals else self._next(at)}
        if found is None and wanted.startswith("--"):
            letters = [letter for letter, long in self._longs().items() if long == _alike(wanted[2:])]
            found = next((each for letter in letters if (each := self._letter(letter, plain=True)) is not None), None)
        return found

    def _letter(self, letter: str, *, plain: bool = False) -> set[str] | None:
        long = self._longs().get(letter, "")
        same = {each for each, its in self._longs().items() if long and its == long} | {letter}
        found: set[str] | None = None
        for at, word in enumerate(self._words):
            text = word.text
            if text[:1] == "-" and text[1:2] != "-":
                place = next((place for place, each in enumerate(text[1:], 1) if each in same), 0)
                if place:
                    found = (found or set[str]()) | {text[place + 1 :].removeprefix("="), self._next(at)}
            elif long and not plain and _same(f"--{long}", text.partition("=")[0]):
                value = text.partition("=")[2]
                found = (found or set[str]()) | {value or self._next(at)}
        return found

    def _next(self, at: int) -> str:
        return self._words[at + 1].text if at + 1 < len(self._words) else ""

    def _longs(self) -> dict[str, str]:
        return _LONG.get(self._name, _USUAL)


def _same(wanted: str, option: str) -> bool:
    """Whether an option is a long one of a denial, or an abbreviation of it, as getopt takes them."""
    if not wanted.startswith("--"):
        return option == wanted or (option == f"-{wanted}" and len(wanted) > len("-x"))
    if not option.startswith("--") or option == "--":
        return False
    return wanted.startswith(option) or _alike(option[2:]) == _alike(wanted[2:])


def _alike(long: str) -> str:
    return _ALIKE.get(long, long)
