"""Bearer tokens in files of the home: made whole, read whole, and never one that anybody could send.

A full disk once left an empty file, which `Authorization: Bearer` alone would have matched. What is empty was never
written and is made anew; what somebody wrote and is no token is refused, not thrown away.
"""

import contextlib
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Generator
from pathlib import Path
from typing import Final

from host.config.private import MODE, create, replace, unwritable
from host.errors import SettingsError

_BYTES: Final = 32  # 256 bits: not to be guessed, however fast the API answers
_USABLE: Final = re.compile(r"[A-Za-z0-9._~+/-]{24,512}=*")  # RFC 6750's letters; at least 120 bits of them
_LARGEST_BYTES: Final = 4096  # of the file: more than any token, and little to read


def is_usable(token: str) -> bool:
    """Say whether `token` may open the API: long enough, and nothing that a header could not carry."""
    return _USABLE.fullmatch(token) is not None


def ensure(path: Path) -> None:
    """Make the token file `path` if there is none or an empty one, and close it to others.

    Raises SettingsError for a file that holds something else, and what `host.config.private.create` raises.
    """
    with _alone(path.parent):
        text = _text(path)
        if text is None:
            create(path, secrets.token_urlsafe(_BYTES) + "\n")
        elif not text:
            replace(path, secrets.token_urlsafe(_BYTES) + "\n")
        else:
            _check(path, text)
    try:
        if stat.S_IMODE(path.stat().st_mode) != MODE:
            path.chmod(MODE)
    except OSError as error:
        raise unwritable(path, error) from error


def read(path: Path) -> str | None:
    """Return the token in `path`, None without that file; raise SettingsError for what is none."""
    text = _text(path)
    if text is None:
        return None
    if not text:
        raise SettingsError(f"{path} is empty; start the host again with `elis up`, which makes a new token")
    _check(path, text)
    return text


def _check(path: Path, text: str) -> None:
    if not is_usable(text):
        message = f"{path} holds no usable token (24 or more of A-Z, a-z, 0-9 and -._~+/ on one line)"
        raise SettingsError(f"{message}; remove it and start the host again with `elis up`, which makes a new one")


def _text(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_BYTES).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}); run this as the user who runs the host"
        raise SettingsError(message) from error


@contextlib.contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Let one process at a time judge and replace, so that two starts at once end with one token."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        with contextlib.suppress(OSError):  # some network file systems lock no folders; there the last one's stands
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
