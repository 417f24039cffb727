"""Typical forms of secrets that nobody lent: headers, key blocks, token shapes, named values, passwords in URLs.

They are closed forms of machine text, not judgements of language: a value is taken for a secret by where it stands
(after a name or scheme that holds secrets) or by a shape that a maker of tokens documents, and left alone where it only
refers to one (a variable, a placeholder, a handle, a call). Positions are of bytes. A form is looked for only where a
word of it stands, so that ordinary text costs a few scans and every text linear time.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from host.vault import blocks, literals, named, tokens
from host.vault.lent import Span, settled

AUTHORIZATION: Final = "authorization"
COOKIE: Final = "cookie"
PRIVATE_KEY: Final = "private-key"
TOKEN: Final = "token"  # noqa: S105 - the name of a form
NAMED: Final = "named-value"
URL_PASSWORD: Final = "url-password"  # noqa: S105 - the name of a form
KINDS: Final = frozenset({AUTHORIZATION, COOKIE, PRIVATE_KEY, TOKEN, NAMED, URL_PASSWORD})

_SCHEMES: Final = rb"(?i:bearer|basic|token|apikey|api-key|negotiate|ntlm|bot|ssws|genie-?key|splunk|key)"
_LISTS: Final = rb"(?i:digest|hawk|oauth|mac|signature|aws4-[a-z0-9-]{1,32}|vapid)"  # schemes with parameters
_SAID: Final = rb"[\"'\\]{0,4}[ \t]{0,8}[:=][ \t]{0,8}[\"'\\]{0,4}"


def replacement(kind: str) -> bytes:
    """Return what stands for a value of `kind`."""
    return f"«masked:{kind}»".encode()


class _Form:
    """A form that begins with a word: what follows it whole, and what follows it where a text breaks off."""

    def __init__(
        self, kind: str, word: bytes, whole: bytes, unfinished: bytes, secret: Callable[[str, bytes], bool]
    ) -> None:
        """Take patterns that begin at `word` (lower case); the last group that took part is the value."""
        self.replacement = replacement(kind)
        self.word = word
        self._whole = re.compile(whole)
        self._unfinished = re.compile(unfinished + rb"\Z")
        self._secret = secret

    def spans(self, raw: bytes, low: bytes) -> Iterator[Span]:
        """Yield every value of this form."""
        at = low.find(self.word)
        while at >= 0:
            match = self._whole.match(raw, at)
            if match is not None and (group := match.lastgroup) and self._secret(group, match[group]):
                yield Span(*match.span(group), self.replacement)
            at = low.find(self.word, at + len(self.word) if match is None else match.end())

    def opens_at(self, raw: bytes, low: bytes, floor: int) -> int:
        """Return where a value begins that may go on after the end of `raw`; its length if there is none."""
        at = low.find(self.word, floor)
        while at >= 0:
            if match := self._unfinished.match(raw, at):
                return match.start("value")
            at = low.find(self.word, at + 1)
        return len(raw)


def _credential(group: str, value: bytes) -> bool:
    if literals.refers(value):
        return False
    match group:
        case "list":
            return b"=" in value
        case "scheme":
            return literals.likely(value) or literals.is_long_word(value)
        case _:
            return literals.opaque(value)


def _opaque(_: str, value: bytes) -> bool:
    return literals.opaque(value) and not literals.refers(value)


def _password(group: str, value: bytes) -> bool:
    if literals.refers(value):
        return False
    return literals.opaque(value) if group == "user" else True


def _always(_: str, value: bytes) -> bool:
    return not literals.refers(value)


_FORMS: Final = (
    _Form(
        AUTHORIZATION,
        b"authorization",
        rb"(?i:authorization)" + _SAID + rb"(?:" + _SCHEMES + rb"[ \t]+(?P<scheme>[^\s\"'\\,;<>]{4,})"
        rb"|" + _LISTS + rb"[ \t]+(?P<list>(?:=\\{0,9}\"[^\"\r\n\\]{0,1024}\\{0,9}\"|[^\r\n\"'\\]){8,})"
        rb"|(?P<bare>[^\s\"'\\,;<>]{8,}))",
        rb"(?i:authorization)" + _SAID + rb"(?P<value>(?:[A-Za-z0-9-]{1,24}[ \t]+)?[^\s\"'\\,;<>]{0,4096}"
        rb"|" + _LISTS + rb"[ \t]+[^\r\n]{0,4096})",
        _credential,
    ),
    _Form(
        AUTHORIZATION,
        b"bearer",
        rb"(?i:bearer)[ \t]{1,4}(?P<token>[A-Za-z0-9._~+/=-]{16,})",
        rb"(?i:bearer)[ \t]{1,4}(?P<value>[A-Za-z0-9._~+/=-]{0,4096})",
        _opaque,
    ),
    _Form(
        URL_PASSWORD,
        b"://",
        rb"://(?:[^\s/?#\"'<>@:]{0,128}:(?P<password>[^\s/?#\"'<>]{1,256})(?=@[A-Za-z0-9.\[_-])"
        rb"|(?P<user>[^\s/?#\"'<>@:]{16,256})(?=@[A-Za-z0-9.\[_-]))",
        rb"://(?P<value>[^\s/?#\"'<>]{0,384})",
        _password,
    ),
    _Form(
        NAMED,
        b"curl",
        rb"(?i:curl)\b[^\r\n|;&]{0,300}?[ \t](?:-u|--user|--proxy-user)(?:[ \t]+|=)?[\"']?[^\s:\"']{1,128}:"
        rb"(?P<password>[^\s\"']{1,512})",
        rb"(?i:curl)\b[^\r\n|;&]{0,300}?[ \t](?:-u|--user|--proxy-user)(?:[ \t]+|=)?[\"']?(?P<value>[^\s\"']{0,640})",
        _always,
    ),
    _Form(
        NAMED,
        b"requirepass",
        rb"(?i:requirepass)[ \t]+[\"']?(?P<value>[^\s\"']{4,512})",
        rb"(?i:requirepass)[ \t]+[\"']?(?P<value>[^\s\"']{0,512})",
        _always,
    ),
    _Form(
        NAMED,
        b"identified by",
        rb"(?i:identified by)[ \t]+[\"'](?P<value>[^\s\"']{3,512})",
        rb"(?i:identified by)[ \t]+[\"'](?P<value>[^\s\"']{0,512})",
        _always,
    ),
    _Form(
        NAMED,
        b"sshpass",
        rb"(?i:sshpass)[ \t]+-p[ \t]*[\"']?(?P<value>[^\s\"']{3,512})",
        rb"(?i:sshpass)[ \t]+-p[ \t]*[\"']?(?P<value>[^\s\"']{0,512})",
        _always,
    ),
    _Form(
        NAMED,
        b"sig",
        rb"(?i:(?<=[?&;-])sig(?:nature)?=)(?P<signature>[^&\s\"'#<>\\]{16,2048})",
        rb"(?i:(?<=[?&;-])sig(?:nature)?=)(?P<value>[^&\s\"'#<>\\]{0,2048})",
        _always,
    ),
)

_WORDS: Final = (*named.WORDS, *(form.word for form in _FORMS), b"cookie")
_COOKIE: Final = re.compile(rb"(?i:cookie)" + _SAID)
_PAIR: Final = re.compile(rb"[ \t]{0,8}[^=;\s\"'\\]{1,128}(?:=(?P<value>[^;\s\"'\\]*))?;?")
_LOOK_BACK: Final = 8192


def spans_of(raw: bytes) -> list[Span]:
    """Return every typical form in `raw`, in order and without overlaps."""
    if not raw:
        return []
    low = raw.lower()
    found = [Span(start, end, replacement(TOKEN)) for start, end in tokens.values(raw)]
    found += [Span(start, end, replacement(NAMED)) for start, end in named.values(raw, low)]
    found += [Span(start, end, replacement(PRIVATE_KEY)) for start, end in blocks.values(raw)]
    for form in _FORMS:
        if form.word in low:
            found += form.spans(raw, low)
    if b"cookie" in low:
        found += _cookies(raw, low)
    return settled(found) if found else found


def announced(raw: bytes) -> bool:
    """Tell whether any form may stand in `raw`; False is certain."""
    low = raw.lower()
    return any(word in low for word in _WORDS) or blocks.WORD in raw or tokens.announced(raw)


def opens_at(raw: bytes) -> int:
    """Return the earliest byte from which the end of `raw` may become a typical form; its length if there is none."""
    low = raw.lower()
    floor = max(0, len(raw) - _LOOK_BACK)
    earliest = min(tokens.opens_at(raw), named.opens_at(raw, low), blocks.opens_at(raw), _cookie_opens_at(raw, low))
    return min([earliest, *(form.opens_at(raw, low, floor) for form in _FORMS if form.word in low)])


def _cookies(raw: bytes, low: bytes) -> Iterator[Span]:
    at = low.find(b"cookie")
    while at >= 0:
        after = at + len(b"cookie")
        if match := _COOKIE.match(raw, at):
            after = match.end()
            while pair := _PAIR.match(raw, after):
                after = pair.end()
                if pair["value"] and _opaque("", pair["value"]):
                    yield Span(*pair.span("value"), replacement(COOKIE))
        at = low.find(b"cookie", after)


def _cookie_opens_at(raw: bytes, low: bytes) -> int:
    at = low.rfind(b"cookie", max(0, len(raw) - _LOOK_BACK))
    match = _COOKIE.match(raw, at) if at >= 0 else None
    if match is None:
        return len(raw)
    after = match.end()
    while pair := _PAIR.match(raw, after):
        if pair.end() == len(raw):
            return pair.start("value") if pair["value"] is not None else len(raw)
        after = pair.end()
    return len(raw)
