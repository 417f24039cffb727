"""The host's home folder: where everything lies, who may read it, and who holds it.

Above it everything that keeps files; below it nothing. It makes folders, modes, the API token and the lock of the
one host that may run on a home, and refuses to know what is inside the files. (The contract: Home.)
"""

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from host.config import private, token
from host.config.tls import leaf
from host.errors import NotFound, PathViolation, ResourceBusy, SettingsError

VARIABLE: Final = "ELIS_HOME"
_PRIVATE_FOLDER: Final = 0o700
_LOCK_TRIES: Final = 4  # `holder` takes the lock for an instant to look; a start beside it must not fail for that
_LOCK_PAUSE_SECONDS: Final = 0.05
_SIGNS: Final = (frozenset({"elis.toml"}), frozenset({"token", "groups"}))  # one name alone may be chance: /proc/keys


class GroupHome(msgspec.Struct, frozen=True, kw_only=True):
    """Where one group's files lie; the folder can be moved or deleted as a whole."""

    root: Path

    @property
    def workspace(self) -> Path:
        """What the group's tools see as /workspace."""
        return self.root / "workspace"

    @property
    def journal(self) -> Path:
        """The group's event log."""
        return self.root / "journal.db"

    @property
    def memory(self) -> Path:
        """The memory base."""
        return self.root / "memory"

    @property
    def browser(self) -> Path:
        """The browser profile."""
        return self.root / "browser"

    @property
    def skills(self) -> Path:
        """The group's procedures."""
        return self.root / "skills"

    @property
    def charter(self) -> Path:
        """What the operator wrote about who the group is; may be missing."""
        return self.root / "charter.md"

    def prepare(self) -> None:
        """Make the folders that are missing, for the owner only; raise AuditFailure or SettingsError."""
        for folder in (self.root, self.workspace, self.memory, self.browser, self.skills):
            _private_folder(folder)


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """One home folder. Making the object touches nothing; `prepare` does."""

    root: Path

    @classmethod
    def find(cls, given: Path | None, environment: Mapping[str, str]) -> "Home":
        """Return the home that `given` (from --home) names, else $ELIS_HOME, else ~/.elis."""
        named = given or Path(environment.get(VARIABLE) or "~/.elis")
        try:
            return cls(root=Path(os.path.abspath(named.expanduser())))  # noqa: PTH100 - links stay as they were named
        except RuntimeError as error:
            message = f"cannot tell which folder {str(named)!r} means ({error}); give one with --home DIR"
            raise SettingsError(message) from error

    @property
    def settings(self) -> Path:
        """The settings, elis.toml."""
        return self.root / "elis.toml"

    @property
    def token_file(self) -> Path:
        """The API's bearer token."""
        return self.root / "token"

    @property
    def journal(self) -> Path:
        """The host's own journal."""
        return self.root / "host.db"

    @property
    def keys(self) -> Path:
        """Key material."""
        return self.root / "keys"

    @property
    def run(self) -> Path:
        """What only lives as long as a host runs: lock, address, process ids, logs."""
        return self.root / "run"

    @property
    def lock_file(self) -> Path:
        """Held by the host that runs on this home; its text is the process id."""
        return self.run / "lock"

    @property
    def address_file(self) -> Path:
        """Where the running host listens."""
        return self.run / "address"

    @property
    def certificate(self) -> Path:
        """A copy of the certificate of a host that listens with TLS, so that the command line can trust it."""
        return self.run / "certificate.pem"

    @property
    def logs(self) -> Path:
        """Log files."""
        return self.run / "logs"

    @property
    def groups(self) -> Path:
        """One folder for each group."""
        return self.root / "groups"

    def group(self, name: str) -> GroupHome:
        """Return where the group `name` lies; raise PathViolation for a name that is no plain folder name."""
        if name in {"", ".", ".."} or "/" in name or "\0" in name:
            message = f"{name!r} cannot be a group's name; use a-z, 0-9 and -"
            raise PathViolation(message)
        return GroupHome(root=self.groups / name)

    def prepare(self) -> None:
        """Make what is missing and take everybody else's rights away; raise AuditFailure or SettingsError.

        AuditFailure says that the disk takes nothing: no journal could be kept there either.
        """
        _refuse_somebody_elses(self.root)
        for folder in (self.root, self.keys, self.run, self.logs, self.groups):
            _private_folder(folder)
        token.ensure(self.token_file)

    def token(self) -> str:
        """Return the API token; raise NotFound where no host was ever started, SettingsError for one that is none."""
        found = token.read(self.token_file)
        if found is None:
            message = f"{self.root} holds no token: no host was started there yet; start one with `elis up`"
            raise NotFound(message)
        return found

    def address(self) -> str:
        """Return the running host's base URL; raise ResourceBusy (exit 15) when none runs here.

        The file holds a URL, or HOST:PORT for plain http.
        """
        try:
            text = self.address_file.read_text(encoding="ascii").strip()
        except FileNotFoundError as error:
            raise ResourceBusy(self.not_running()) from error
        except (OSError, UnicodeDecodeError) as error:
            message = f"{self.address_file} cannot be read ({error}); run this as the user who runs the host"
            raise SettingsError(message) from error
        if not text:
            raise ResourceBusy(self.not_running())
        return text if "://" in text else f"http://{text}"

    def write_address(self, address: str) -> None:
        """Tell everybody who may read this home where the host listens, as ADDRESS:PORT; with TLS as https://…."""
        private.replace(self.address_file, address + "\n")

    def keep_certificate(self, certificate: Path | None) -> None:
        """Copy the host's own certificate for the clients of this home, before `write_address`; None removes a copy.

        Neither the chain nor a key in the same file is copied: an authority's other customers are not to be trusted.
        """
        if certificate is None:
            _remove(self.certificate)
            return
        private.replace(self.certificate, leaf(certificate.read_text(encoding="ascii", errors="replace")))

    def forget_address(self) -> None:
        """The host listens no more."""
        _remove(self.address_file)

    def not_running(self) -> str:
        """Say that no host runs here, and what to do."""
        return f"no host is running on {self.root}; start one with `elis up`"

    @contextlib.contextmanager
    def hold(self) -> Generator[None]:
        """Hold this home for one host; raise ResourceBusy naming the process that has it.

        The kernel lets go of the lock when the holder dies, however it dies, so a left-over file means nothing.
        """
        try:
            descriptor = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, private.MODE)
        except OSError as error:
            raise private.unwritable(self.lock_file, error) from error
        try:
            if not _locked(descriptor):
                holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
                message = (
                    f"a host is already running on {self.root} (process {holder}); stop it with `elis down`, "
                    "or give another home with --home DIR"
                )
                raise ResourceBusy(message)
            with contextlib.suppress(OSError):  # a full disk: the number is only for other people's messages
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
            yield
        finally:
            os.close(descriptor)

    def holder(self) -> int | None:
        """Return the process id of the host that holds this home (0: not known), None when nobody does."""
        try:
            descriptor = os.open(self.lock_file, os.O_RDONLY | os.O_CLOEXEC)  # also on a disk that cannot be written
        except FileNotFoundError:
            return None
        except OSError as error:
            message = f"{self.lock_file} cannot be read ({error.strerror}); run this as the user who runs the host"
            raise SettingsError(message) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            return int(text) if text.isdecimal() else 0
        else:
            return None
        finally:
            os.close(descriptor)


def _locked(descriptor: int) -> bool:
    for left in reversed(range(_LOCK_TRIES)):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if left:
                time.sleep(_LOCK_PAUSE_SECONDS)
        else:
            return True
    return False


def _refuse_somebody_elses(root: Path) -> None:
    """Closing /tmp or a person's folder to everybody else would be a bad answer to a slip in --home.

    A home that Elis made is private from its first moment; one that was copied or prepared shows one of the signs.
    """
    try:
        names = set(os.listdir(root))  # noqa: PTH208 - the names are wanted, not paths
        mode = stat.S_IMODE(root.stat().st_mode)
    except OSError:
        return  # missing: it will be made; anything else is told where it is made
    if names and not any(sign <= names for sign in _SIGNS) and mode != _PRIVATE_FOLDER:
        message = f"{root} holds other things than a home of Elis; give a new or empty folder with --home DIR"
        raise SettingsError(message)


def _private_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        facts = folder.stat()
    except (FileExistsError, NotADirectoryError) as error:
        message = f"the folder {folder} cannot be made ({error.strerror}); give another home with --home DIR"
        raise SettingsError(message) from error
    except OSError as error:
        raise private.unwritable(folder, error) from error
    if facts.st_uid != os.geteuid():
        message = (
            f"the folder {folder} belongs to user {facts.st_uid}, this is user {os.geteuid()}; "
            "run Elis as its owner, or give another home with --home DIR"
        )
        raise SettingsError(message)
    if stat.S_IMODE(facts.st_mode) != _PRIVATE_FOLDER:
        try:
            folder.chmod(_PRIVATE_FOLDER)
        except OSError as error:
            raise private.unwritable(folder, error) from error


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise private.unwritable(path, error) from error
