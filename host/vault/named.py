"""Values behind names that hold secrets: `NAME=value`, JSON and YAML fields, flags, query parameters, XML, .netrc.

The name's last part decides (`client_secret`, `accessToken`, `X-Api-Key`; never `tokens_in` or `password_file`), then
how the value stands: quoted, after an environment name, a flag or in a query it is taken as it is; bare in ordinary
text or code only if it is opaque, so that `token = parse(line)` stays what it is. Positions are of bytes.
"""

import functools
import re
from collections.abc import Iterator
from typing import Final

from host.vault import literals

WORDS: Final = (b"pass", b"pwd", b"psk", b"secret", b"token", b"key", b"credential", b"auth")
"""In lower case; without one of them in the text there is nothing to find."""

_LOOK_BACK: Final = 96
_LONGEST: Final = 4096

_NAME: Final = rb"(?i:pass(?:word|wd|phrase|code)?|pwd|psk|secret|token|key|credentials?|auth)"
_SUFFIX: Final = rb"(?P<suffix>(?i:[_-]?[0-9]{1,3}|[_-](?:base(?:64)?|b64|hex|value))?)"
_SEPARATOR: Final = (
    rb"(?P<equals>=)(?=[^\s=])"
    rb"|(?P<spaced>[\"'\\\]]{0,10}[ \t]{0,8}(?:=>|:=|={1,3}|:(?!:))[ \t]{0,8})"
    rb"|(?P<valued>[\"']?[ \t]{0,8},?[ \t\r\n]{1,24}-?[ \t]{0,8}[\"']?(?i:value)[\"']?[ \t]{0,8}[:=][ \t]{0,8}"
    rb"|[\"'][ \t]{0,8},[\"'](?i:value)[\"'][ \t]{0,8}:[ \t]{0,8})"  # its value stands in a field named so
    rb"|(?P<listed>[\"'][ \t]{0,8},[ \t]{0,8})"  # an argument of a function
    rb"|(?P<closed>>)"
    rb"|(?P<blank>[ \t]{1,8})"
)
_VALUE: Final = (
    rb'"(?P<double>(?:[^"\\\r\n]|\\[^\r\n])++)(?="|\Z)'
    rb"|'(?P<single>(?:[^'\\\r\n]|\\[^\r\n])++)(?='|\Z)"
    rb'|\\{1,9}"(?P<escaped>[^"\\\r\n]+)'
    rb"|\\{1,9}'(?P<escaped_single>[^'\\\r\n]+)"
    rb"|(?P<bare>[^\s\"'`;|<>(){}\[\],&\\]+)"
)
_WHOLE: Final = re.compile(rb"(?P<name>" + _NAME + rb")" + _SUFFIX + rb"(?:" + _SEPARATOR + rb")(?:" + _VALUE + rb")")
_UNFINISHED: Final = re.compile(
    rb"(?P<name>"
    + _NAME
    + rb")"
    + _SUFFIX
    + rb"(?:"
    + _SEPARATOR
    + rb")(?:\\{0,9}[\"'](?P<quoted>[^\r\n\"']{0,4096})|(?P<bare>[^\s\"']{0,4096}))\Z"
)

_NAME_BEFORE: Final = re.compile(rb"[A-Za-z0-9_.-]*\Z")
_KEY_OF: Final = re.compile(
    rb"(?:api|access|secret|private|signing|encryption|master|auth|account|service|app|application|deploy|licen[cs]e|"
    rb"storage|subscription|session|webhook|admin|client|consumer|hmac|aes|shared)[_.-]?\Z",
    re.IGNORECASE,
)
_CURSOR: Final = re.compile(rb"(?:next|page|continuation)[_-]?\Z", re.IGNORECASE)  # says where a listing goes on
_JOINED: Final = re.compile(rb"(?:\A|[_.-])\Z")
_FLAG: Final = re.compile(rb"(?:\A|[\s\"'=\[,])--[A-Za-z0-9_.-]*\Z")
_QUERY: Final = re.compile(rb"[?&;][A-Za-z0-9_.%-]*\Z")
_TAG: Final = re.compile(rb"<[A-Za-z0-9_.:-]*\Z")
_LOGIN: Final = re.compile(rb"\blogin[ \t]+[^\s]{1,64}[ \t\r\n]+\Z")  # .netrc

_BEFORE_SAID: Final = re.compile(rb"(?:\A|[\s\"'])[A-Za-z0-9_.-]*\Z")  # a word of its own: a log line, a form
_BLANK: Final = re.compile(rb"\s")

_ADDRESS: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]{1,15}://")  # what it holds is for another form
_DOTTED: Final = re.compile(rb"[0-9]{1,6}(?:\.[0-9]{1,6})+\Z")
_PASSWORDS: Final = frozenset({b"password", b"passwd", b"passphrase", b"passcode", b"pass", b"pwd", b"psk"})
_SHORT_WORDS: Final = frozenset({b"pass", b"auth", b"psk", b"key"})
_SHORTEST_PASSWORD: Final = 3
_SHORTEST_BARE_PASSWORD: Final = 6
_SHORTEST_TOKEN: Final = 6
_SHORTEST_MIXED: Final = 12  # of a token without a digit
_HYPHENS_OF_A_PHRASE: Final = 2


class _Place:
    """A name and what stands around it."""

    def __init__(self, raw: bytes, match: "re.Match[bytes]") -> None:
        self.match = match
        self.before = raw[max(0, match.start() - _LOOK_BACK) : match.start()]
        self.word = match["name"].lower()
        found = _NAME_BEFORE.search(self.before)
        self.prefix = found.group() if found else b""
        self.password = self.word in _PASSWORDS

    def holds_secrets(self) -> bool:
        """Tell whether the name as a whole is one for secrets."""
        match self.word:
            case b"key":
                return _KEY_OF.search(self.prefix) is not None
            case b"token":
                return _CURSOR.search(self.prefix) is None
            case b"pass" | b"auth" | b"psk":
                camel = self.match["name"][:1].isupper() and self.prefix[-1:].islower()
                return camel or _JOINED.search(self.prefix) is not None
            case _:
                return True

    def separated(self) -> bool:
        """Tell whether what stands between name and value binds them."""
        if self.match["blank"] is not None:
            set_alone = b"_" in self.whole and self.whole == self.whole.upper()  # as a Dockerfile sets variables
            return self.flag or set_alone or self.quoted or _LOGIN.search(self.before) is not None
        return self.match["closed"] is None or _TAG.search(self.before) is not None

    @property
    def flag(self) -> bool:
        """An option of a command line."""
        return _FLAG.search(self.before) is not None

    @property
    def full(self) -> bool:
        """No short word that means many other things as well."""
        return self.word not in _SHORT_WORDS

    @property
    def quoted(self) -> bool:
        """A password in quotes right behind its name, as SQL writes it."""
        groups = self.match.groupdict()
        return (
            self.password and self.full and bool(groups.get("double") or groups.get("single") or groups.get("quoted"))
        )

    @property
    def tight(self) -> bool:
        """An equals sign without blanks."""
        return self.match["equals"] is not None

    @property
    def whole(self) -> bytes:
        """The name with what precedes and follows its last word."""
        return self.prefix + self.match["name"] + self.match["suffix"]

    def in_command(self) -> bool:
        """Tell whether a variable of the environment, a flag or a parameter of a query is set."""
        if not self.tight:
            return self.flag or (self.match["blank"] is not None and _LOGIN.search(self.before) is not None)
        return self.whole == self.whole.upper() or self.flag or _QUERY.search(self.before) is not None


def values(raw: bytes, low: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of every secret value behind a name in `raw`; `low` is `raw` in lower case."""
    for word in WORDS:
        at = low.find(word)
        while at >= 0:
            match = _WHOLE.match(raw, at)
            after = at + len(word)
            if match is not None and (group := match.lastgroup):
                secret = _is_secret(raw, match, group)
                if secret:
                    yield match.span(group)
                # Another name may stand in a short value; in long ones looking again would take quadratic time.
                if secret or match.end() - at > _LOOK_BACK:
                    after = match.end()
            at = low.find(word, after)


def opens_at(raw: bytes, low: bytes) -> int:
    """Return where the end of `raw` may be the beginning of such a value; its length if nowhere."""
    earliest = len(raw)
    floor = max(0, len(raw) - _LONGEST)
    for word in WORDS:
        at = low.find(word, floor)
        while at >= 0:
            match = _UNFINISHED.match(raw, at)
            if match is not None and (group := match.lastgroup):
                place = _Place(raw, match)
                over = _BLANK.search(match[group]) is not None and not place.in_command()
                if place.holds_secrets() and place.separated() and not over:
                    earliest = min(earliest, match.start(group))
                break
            at = low.find(word, at + len(word))
    return earliest


@functools.lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Tell whether a field of this name holds secrets."""
    return is_secret_field(name, "aB3dE6gH9jK2mN5p")


def is_secret_field(name: str, value: str) -> bool:
    """Tell whether `value` of the field `name` in structured data is a secret."""
    raw = name.encode("utf-8", "surrogatepass") + b'="' + value.encode("utf-8", "surrogatepass") + b'"'
    return any(True for _ in values(raw, raw.lower()))


def _is_secret(raw: bytes, match: "re.Match[bytes]", group: str) -> bool:
    value = match[group]
    place = _Place(raw, match)
    if not place.holds_secrets() or not place.separated() or _refers(place, value):
        return False
    if match["closed"] is not None:
        return raw.startswith(b"</", match.end())
    if place.in_command():
        return _fits(place, value)
    if _BLANK.search(value):
        return False
    follows = raw[match.end() : match.end() + 1]
    if group == "bare":
        return _is_bare_secret(place, value, follows)
    return _fits(place, value) and _is_quoted_secret(place, value, follows)


def _is_quoted_secret(place: _Place, value: bytes, follows: bytes) -> bool:
    if place.match["listed"] is not None:
        call = place.before.removesuffix(place.prefix).endswith((b"('", b'("')) and follows in (b"'", b'"')
        return call and place.full and literals.likely(value)
    if place.match["blank"] is not None:
        return literals.likely(value) if place.quoted else literals.opaque(value)
    # Names of tokens also stand for other things in quotes: kinds of words, column titles.
    return place.password or literals.likely(value) or literals.is_long_word(value)


def _is_bare_secret(place: _Place, value: bytes, follows: bytes) -> bool:
    if place.match["listed"] is not None or (follows and follows in b"(["):  # code
        return False
    if literals.is_attribute(value.rstrip(b":.")):
        return False
    if place.match["valued"] is not None:
        return _fits(place, value) and (place.password or literals.likely(value))
    said = (
        place.tight and _BEFORE_SAID.search(place.before) is not None and (not follows or follows in b" \t\r\n&\"'\\")
    )
    if not place.password:
        return literals.opaque(value) or (said and len(value) >= _SHORTEST_MIXED and literals.is_mixed(value))
    phrase = value.count(b"-") >= _HYPHENS_OF_A_PHRASE
    return len(value) >= _SHORTEST_BARE_PASSWORD and (said or phrase or literals.has_sign(value))


def _refers(place: _Place, value: bytes) -> bool:
    """Tell whether the value repeats the name, or stands for something else."""
    named_again = value.lower() in {place.word, place.whole.lower()}
    if named_again or value.startswith(b"--") or literals.refers(value) or literals.is_path(value):
        return True
    # A password may have any form; tokens are no addresses, no versions and no names of objects.
    return _ADDRESS.match(value) is not None or (not place.password and _DOTTED.match(value) is not None)


def _fits(place: _Place, value: bytes) -> bool:
    if place.password:
        return len(value) >= _SHORTEST_PASSWORD
    return len(value) >= _SHORTEST_TOKEN and not literals.is_number(value)
