"""The shape of secret references in settings (SEC-1): what may stand where a secret belongs.

The vault resolves references; here only their form is judged, at start, so that a raw value never gets further. No
message repeats what was written.
"""

import re
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from host.config.problems import Problems

_NOW: Final = ("env", "file")
_LATER: Final = ("keyring", "op", "bw", "pass")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def check(key: str, reference: str, problems: Problems) -> None:
    """Note it when `reference` is none, or one that this version cannot resolve."""
    scheme, colon, rest = reference.partition(":")
    if not colon or scheme not in _NOW + _LATER:
        problems.add(
            key,
            "holds a raw value where a reference to a secret belongs",
            'keep the value elsewhere and write a reference, "env:NAME" or "file:PATH"; '
            "treat the value that stood here as known to others",
        )
    elif scheme in _LATER:
        problems.later(
            key, f"references of the kind {scheme}: are not resolved yet", 'use "env:NAME" or "file:PATH" until then'
        )
    elif not rest.strip():
        problems.add(key, f"the reference names nothing after {scheme}:", 'write "env:NAME" or "file:PATH"')
    elif scheme == "env" and not _VARIABLE.match(rest):
        problems.add(
            key,
            "what follows env: cannot be the name of a variable",
            'write the variable\'s name, "env:NAME", not the value; if a value stood here, treat it as known to others',
        )
    elif scheme == "file" and (wrong := _no_path(rest)):
        problems.add(key, wrong, 'write the path from /, as "file:/PATH"')


def _no_path(text: str) -> str:
    """Return what keeps `text` from being a path here; nothing for one that can be."""
    if "\0" in text:
        return "what follows file: cannot be a path"
    try:
        Path(text).expanduser()
    except RuntimeError:
        return "what follows file: begins with the home folder of a user who does not exist here"
    return ""


def has_userinfo(text: str) -> bool:
    """Tell whether `text` is a URL with a user name or password in it."""
    if "://" not in text:
        return False
    try:
        return "@" in urlsplit(text).netloc
    except ValueError:
        return "@" in text
