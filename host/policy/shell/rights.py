"""Raising rights and running what was fetched: always asked, for this once (POL-9)."""

import re
from typing import Final

from host.policy.shell.word import Word
from host.policy.shell.wrappers import RAISING, base_name

DOWNLOADERS: Final = frozenset(
    ["curl", "wget", "aria2c", "http", "https", "lynx", "links", "fetch", "GET", "lwp-request", "axel"]
)
INTERPRETERS: Final = re.compile(
    r"(?:python|pypy|perl|ruby|node|nodejs|php|lua|luajit|tclsh|Rscript|deno|bun|osascript|pwsh|julia|guile|awk|gawk|mawk)"
    r"[\d.]*",
)
_SETUID: Final = re.compile(r"(?:[ugoa]*[+=][rwxXt]*s[rwxXst]*|0?[2-7]\d{3})(?:,.*)?")


def raises_rights(words: tuple[Word, ...]) -> bool:
    """Whether a command gives itself, or a file, more rights than it has."""
    name = base_name(words[0].text)
    if name in RAISING or name in {"setcap", "visudo"}:
        return True
    if name in {"chmod", "install"}:
        return any(_SETUID.fullmatch(part) for word in words[1:] for part in _modes(word.text))
    return name in {"nsenter", "unshare"}


def _modes(text: str) -> list[str]:
    text = text.removeprefix("--mode=").removeprefix("-m")
    return text.split(",")


def is_downloader(words: tuple[Word, ...]) -> bool:
    """Whether a command, or one it wraps, fetches something."""
    return any(base_name(word.text) in DOWNLOADERS for word in words[:4])


def fetched_files(words: tuple[Word, ...], writes: tuple[Word, ...]) -> set[str]:
    """Return the names of the files that a downloader leaves."""
    if not is_downloader(words):
        return set()
    names = {base_name(word.text) for word in writes}
    for at, word in enumerate(words):
        if word.text.startswith(("http://", "https://", "ftp://")):
            names.add(base_name(word.text.partition("?")[0]))
        found = re.fullmatch(r"-[A-Za-z]*[oO](.*)|--output(?:-document)?(?:=(.*))?|--out=(.*)", word.text)
        if found:
            value = next((group for group in found.groups() if group), "") or (
                words[at + 1].text if at + 1 < len(words) else ""
            )
            names.add(base_name(value))
    return names - {"", "-"}
