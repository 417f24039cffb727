"""Secrets in files: 0600 is enforced, what was checked is what is read, a new value replaces the old in one step."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Final

from host.config.references import Reference
from host.errors import SettingsError
from host.vault.missing import LARGEST_BYTES, as_text, missing

_OTHERS: Final = 0o077  # mode bits for group and others
_KERNEL: Final = ("/proc/", "/sys/", "/dev/")  # the host's own environment is a file there
_PRIVATE_FOLDER: Final = 0o700


def read(reference: Reference, path: Path) -> str:
    """Return the file's text without its last line break; raise SecretMissing. Both go through one descriptor."""
    try:
        # Without O_NONBLOCK a FIFO would hold the caller until somebody writes to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        cause = f"{path} cannot be read (it does not exist); write the value there with the mode 0600"
        raise missing(reference, cause) from None
    except OSError as error:
        cause = f"{path} cannot be read ({os.strerror(error.errno or 0)}); mend its rights for the host's user"
        raise missing(reference, cause) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or str(Path(f"/proc/self/fd/{descriptor}").readlink()).startswith(_KERNEL):
            raise missing(reference, f"{path} is no file; name a file that holds nothing but the value")
        if status.st_mode & _OTHERS:
            mode = stat.S_IMODE(status.st_mode)
            cause = f"{path} has the mode {mode:04o}, so others may read it; run: chmod 600 {path}"
            raise missing(reference, cause)
        data = os.read(descriptor, LARGEST_BYTES + 3)  # with a line break, and one byte to tell that it is too much
    finally:
        os.close(descriptor)
    value = as_text(reference, data, str(path)).rstrip("\r\n")
    if not value.strip():
        raise missing(reference, f"{path} is empty; write the value there")
    return value


def write(path: Path, value: str) -> None:
    """Put `value` into the file with the mode 0600; raise SettingsError. A link's target is what is written."""
    real = Path(os.path.realpath(path))
    fresh = ""
    try:
        if real.exists() and not real.is_file():
            message = f"{real} is no file; name a file that holds nothing but the value"
            raise SettingsError(message)
        real.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        descriptor, fresh = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)  # made with the mode 0600
        with os.fdopen(descriptor, "wb") as file:
            file.write(value.encode())
            file.flush()
            os.fsync(descriptor)
        os.replace(fresh, real)  # noqa: PTH105 - both are known as they are
        _sync_folder(real.parent)
    except OSError as error:
        message = f"{real} cannot be written ({error.strerror}); make room or mend the rights of its folder"
        raise SettingsError(message) from None
    finally:
        with contextlib.suppress(OSError):
            if fresh:
                os.unlink(fresh)  # noqa: PTH108 - as above


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
