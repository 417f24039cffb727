"""The head of a request to the proxy: read strictly, and written anew for the server.

What two parties could read differently is refused, not guessed: bare line ends, folded fields, white space round a
field's name, a field that says how long the body is and comes twice, both ways of saying it. Pure; RFC 9112 and 9110.
"""

import re
from typing import Final

import msgspec

from browser.errors import Refused, Rule
from browser.hosts import name_of

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*\Z")
_AUTHORITY: Final = re.compile(r"(?P<host>[^:/@\[\]\s]+|\[[^\]@/\s]*\])(:(?P<port>[0-9]{1,5}))?\Z")
_TARGET: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<rest>[^#]*)\Z")
_VISIBLE: Final = re.compile(r"[\x21-\x7e]+\Z")
_LENGTH: Final = re.compile(r"[0-9]{1,18}\Z")
_VERSIONS: Final = ("HTTP/1.1", "HTTP/1.0")
_ONCE: Final = ("host", "content-length", "transfer-encoding")
_OWN: Final = frozenset(
    {"connection", "keep-alive", "te", "trailer", "upgrade", "host", "proxy-connection", "proxy-authorization"}
)
"""Fields between client and proxy, or that the proxy writes itself."""
_HTTP_PORT: Final = 80
_LAST_PORT: Final = 65535


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was read."""

    tunnel: bool  # CONNECT
    host: str  # in its one spelling
    port: int
    rewritten: bytes = b""  # the head for the server; empty for a tunnel
    length: int = 0  # bytes of the body
    chunked: bool = False  # the body comes in chunks instead


def read_head(data: bytes) -> Head:
    """Return the request whose head `data` is, its empty line included; raise Refused."""
    lines = data.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    if any("\r" in line or "\n" in line or "\0" in line for line in lines):
        raise _malformed("a line end stands alone, or a NUL in it")
    words = lines[0].split(" ")
    if len(words) != len(("method", "target", "version")) or words[2] not in _VERSIONS or not _TOKEN.match(words[0]):
        raise _malformed("its first line is no request")
    fields = [_field(line) for line in lines[1:]]
    for name in _ONCE:
        if sum(field == name for field, _, _ in fields) > 1:
            raise _malformed(f"the field {name} stands in it twice")
    known = {field: value for field, _, value in fields}
    if words[0] == "CONNECT":
        return _tunnel(words[1], known)
    return _forwarded(words[0], words[1], fields, known)


def _tunnel(target: str, known: dict[str, str]) -> Head:
    host, port = _authority(target, None)
    if "content-length" in known or "transfer-encoding" in known:
        raise _malformed("CONNECT has no body")
    if "host" in known and known["host"].lower() != target.lower() and known["host"].lower() != host:
        raise _differs(known["host"], target)
    return Head(tunnel=True, host=host, port=port)


def _forwarded(method: str, target: str, fields: list[tuple[str, str, str]], known: dict[str, str]) -> Head:
    found = _TARGET.match(target)
    if found is None or not _VISIBLE.match(target):
        raise _malformed("a proxy needs CONNECT, or a whole address such as http://example.org/")
    if found["scheme"].lower() != "http":
        message = f"{found['scheme']}: addresses are reached by CONNECT, not by a request for the whole address"
        raise Refused(Rule.SCHEME, message)
    host, port = _authority(found["authority"], _HTTP_PORT)
    if "host" not in known:
        raise _malformed("the field Host is missing")
    if _authority(known["host"], _HTTP_PORT) != (host, port):
        raise _differs(known["host"], found["authority"])
    length, chunked = _body(known)
    rest = found["rest"]
    path = rest if rest.startswith("/") else f"/{rest}"
    own = _OWN | {name.strip().lower() for name in known.get("connection", "").split(",")}
    own |= {field for field, _, _ in fields if field.startswith("proxy-")}
    own -= {"content-length", "transfer-encoding"}  # without them the body would be read as another request
    kept = [f"{name}: {value}" for field, name, value in fields if field not in own]
    authority = host if port == _HTTP_PORT else f"{host}:{port}"
    lines = [f"{method} {path} HTTP/1.1", f"Host: {authority}", *kept, "Connection: close", "", ""]
    rewritten = "\r\n".join(lines).encode("latin-1")
    return Head(tunnel=False, host=host, port=port, rewritten=rewritten, length=length, chunked=chunked)


def _field(line: str) -> tuple[str, str, str]:
    name, colon, value = line.partition(":")
    value = value.strip(" \t")
    if not (colon and _TOKEN.match(name) and _VALUE.match(value)):
        raise _malformed("a field of its head cannot be read")
    return name.lower(), name, value


def _body(known: dict[str, str]) -> tuple[int, bool]:
    length, coding = known.get("content-length"), known.get("transfer-encoding")
    if length is not None and coding is not None:
        raise _malformed("it says in two ways how long its body is")
    if coding is not None and coding.lower() != "chunked":
        raise _malformed("its body comes in an encoding that is not chunked")
    if length is not None and not _LENGTH.match(length):
        raise _malformed("the length of its body is no number")
    return int(length or 0), coding is not None


def _authority(text: str, default: int | None) -> tuple[str, int]:
    found = _AUTHORITY.match(text)
    if found is None:
        raise _malformed("it names no host and port")
    port = int(found["port"]) if found["port"] else default
    if port is None or not 0 < port <= _LAST_PORT:
        raise _malformed("it names no port")
    return name_of(found["host"]), port


def _malformed(what: str) -> Refused:
    return Refused(Rule.MALFORMED, f"the request is not one that can be carried: {what}", status=400)


def _differs(host: str, authority: str) -> Refused:
    return Refused(Rule.HOST_DIFFERS, f"the field Host says {host[:80]}, the request {authority[:80]}", status=400)
