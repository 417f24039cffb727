"""Words from outside, wrapped as data with their origin (CTX-6). Pure; it knows neither tools nor models.

A wrapped text stands between two marks that carry a number computed from it:

    ⟦elis:external 3f9a… from http api.example.org⟧
    …
    ⟦elis:external 3f9a… ends⟧

No text can hold its own number, and whatever in it reads like a mark is defused: the brackets of the marks become
doubled ordinary ones, and `elis external`, however spelt (other alphabets, other case, invisible characters or anything
else between the letters), becomes `elis-quoted-external`. The host can so always tell where a text ends. That a model
heeds it is a heuristic; what holds is the gate.
"""

import functools
import hashlib
import re
import unicodedata
from typing import Final

WORD: Final = "elis:external"
_QUOTED: Final = "elis-quoted-external"
_ORIGIN_CHARS: Final = 200
_REMEMBERED: Final = 1 << 14  # characters looked up before: more than any text of a living language has
_ENDS: Final = str.maketrans({"⟦": "[[", "⟧": "]]"})
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029⟦⟧]+")

_LOOK_ALIKES: Final = {
    "e": "еєҽɛεɘǝ℮ꬲᴇⲉɇ", "i": "іӏιɪıɩlłｌⅼʟꞮƖاᴉᛁⵏιľᒪ", "s": "ѕꜱʂƨꮪ", "x": "хχⅹⲭ×᙮ᚷӽ", "t": "тτᴛŧⲧ†",
    "r": "гᴦʀɾꭇᴙⲅř", "n": "пηɴոռℵν", "a": "аαɑᴀⲁª∂", "m": "мᴍⲙṃ",
}  # fmt: skip
"""What is taken for the letters of the word. `l` and `i` are one letter here: a capital I is drawn like the former."""
_FIGURES: Final = {"3": "E", "€": "E", "£": "E", "1": "I", "|": "I", "!": "I", "5": "S", "$": "S", "7": "T", "+": "T",
                   "4": "A", "@": "A"}  # fmt: skip
"""What stands for letters too; in capitals, for before the word it is no letter that makes it another word."""
_PICTURED: Final = (0x1F1E6, 0x1F150, 0x1F170)  # where A begins among flags and among white letters on black
_BETWEEN: Final = "\0*"  # anything that is no letter
_IMITATION: Final = re.compile(
    r"(?<![a-z])"
    + _BETWEEN.join(["[eE]", "[iI]", "[iI]", "[sS]", "[eE]", "x", "[tT]", "[eE]", "(?:r\0*n|m)", "[aA]", "[iI]"])
)


def wrapped(text: str, origin: str) -> str:
    """Return `text` as data that came from `origin`."""
    said = defused(_CONTROLS.sub(" ", origin)[:_ORIGIN_CHARS])
    body = defused(text)
    number = hashlib.blake2b(f"{said}\0{body}".encode(errors="surrogatepass"), digest_size=8).hexdigest()
    return f"⟦{WORD} {number} from {said}⟧\n{body}\n⟦{WORD} {number} ends⟧"


def defused(text: str) -> str:
    """Return `text` with everything put aside that is a mark or imitates one; twice is the same as once."""
    text = text.translate(_ENDS)
    for letters in (_plain_letters(), _with_figures()):
        while spans := [found.span() for found in _IMITATION.finditer(text.translate(letters))]:
            for start, end in reversed(spans):
                text = text[:start] + _QUOTED + text[end:]
    return text


class _Letters(dict[int, str]):
    """Each character as the one letter that it looks like, or NUL: places stay what they were."""

    def __init__(self, figures: dict[str, str]) -> None:
        super().__init__()
        alike = {each: letter for letter, others in _LOOK_ALIKES.items() for each in others}
        self._known: dict[str, str] = alike | figures

    def __missing__(self, code: int) -> str:
        letter = self._letter(chr(code))
        if len(self) < _REMEMBERED:
            self[code] = letter
        return letter

    def _letter(self, character: str) -> str:
        for first in _PICTURED:
            if 0 <= ord(character) - first < len("abcdefghijklmnopqrstuvwxyz"):
                character = chr(ord("a") + ord(character) - first)
        plain = unicodedata.normalize("NFKD", character).casefold()
        forms: list[str] = [character, character.casefold(), *plain]
        for form in forms:
            if form in self._known:
                return self._known[form]
            if len(form) == 1 and "a" <= form <= "z":
                return form
        return "\0"


@functools.cache
def _plain_letters() -> _Letters:
    return _Letters({})


@functools.cache
def _with_figures() -> _Letters:
    return _Letters(_FIGURES)
