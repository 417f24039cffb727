"""References to secrets (SEC-1): their forms, when two of them mean one secret, and which the host keeps to itself.

The vault resolves references; here only what stands in the settings is judged, at start, so that a raw value never
gets further. No message repeats what was written. Nothing here reads a secret.
"""

import os
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

from host.config.problems import Problems

FORMS: Final = {
    "env": '"env:NAME"',
    "file": '"file:PATH"',
    "keyring": '"keyring:SERVICE/NAME"',
    "op": '"op://VAULT/ITEM/FIELD"',
    "bw": '"bw:ITEM"',
    "pass": '"pass:NAME"',
}
"""How a reference of each kind is written."""

OWN_SERVICE: Final = "elis-host"
"""Under this service the host keeps its own keys in the keyring; no tool is lent one of them."""

OWN_FILES: Final = ("token", "keys", "nats", "run", "host.db", "elis.toml")
"""What of the host's home no tool is lent, whatever a reference says."""

_OWN_VARIABLES: Final = re.compile(
    r"(?:OP_(?:SERVICE_ACCOUNT_TOKEN|CONNECT_TOKEN|SESSION(?:_.*)?)"
    r"|BW_(?:SESSION|PASSWORD|CLIENTID|CLIENTSECRET))\Z"
)
"""Variables by which the host itself opens a vault: who has them has everything in it."""

BW_OBJECTS: Final = ("password", "username", "notes", "totp", "uri")
"""What may be asked of an item of Bitwarden, as in "bw:notes/ITEM"; without a word it is the password."""

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_OP_SEGMENTS: Final = (3, 4)  # VAULT/ITEM/FIELD or VAULT/ITEM/SECTION/FIELD


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """Where a secret is kept."""

    kind: str  # a key of FORMS
    name: str  # what follows the kind, as it was written

    @property
    def text(self) -> str:
        """The reference as it stands in the settings."""
        return f"{self.kind}:{self.name}"


class Wrong(msgspec.Struct, frozen=True, kw_only=True):
    """Why a text is no reference."""

    wrong: str
    remedy: str


def read(text: str) -> Reference | Wrong:
    """Read a reference, or say what is wrong with it, without repeating it."""
    kind, colon, name = text.partition(":")
    if not colon or kind not in FORMS:
        return Wrong(
            wrong="holds a raw value where a reference to a secret belongs",
            remedy=f"keep the value elsewhere and write a reference ({forms()}); "
            "treat the value that stood here as known to others",
        )
    reference = Reference(kind=kind, name=name)
    if not name.strip():
        return Wrong(
            wrong=f"the reference names nothing after {kind}:", remedy=f"write {FORMS[kind]} or {_other(kind)}"
        )
    if kind == "file" and (wrong := _no_path(name)):
        return Wrong(wrong=wrong, remedy='write the path from /, as "file:/PATH"')
    if not _is_well_formed(reference):
        return Wrong(
            wrong=f"what follows {kind}: is not the name of a secret",
            remedy=f"write {FORMS[kind]} or {_other(kind)}, never the value; "
            "if a value stood here, treat it as known to others",
        )
    return reference


def forms() -> str:
    """Return the forms of references, for people."""
    *most, last = FORMS.values()
    return f"{', '.join(most)} or {last}"


def check(key: str, reference: str, problems: Problems) -> None:
    """Note it when `reference` is none."""
    found = read(reference)
    if isinstance(found, Wrong):
        problems.add(key, found.wrong, found.remedy)


def check_lendable(key: str, reference: str, used: Mapping[str, str], base: Path, problems: Problems) -> None:
    """Note it when `reference` is none, or one that the host, a model or a peer uses and no tool may be lent.

    `used` tells by `identity` what each such secret is, as in "the secret of models.main".
    """
    check(key, reference, problems)
    user = used.get(identity(reference, base)) or kept_by_host(reference, base)
    if user:
        problems.add(
            key,
            f"is {user}, and what the host itself uses cannot be lent to tools",
            "take one of the two out, or use two secrets",
        )


def _no_path(text: str) -> str:
    """Return what keeps `text` from being a path here; nothing for one that can be."""
    if "\0" in text:
        return "what follows file: cannot be a path"
    try:
        Path(text).expanduser()
    except RuntimeError:
        return "what follows file: begins with the home folder of a user who does not exist here"
    return ""


def identity(text: str, base: Path) -> str:
    """Return a form in which two references to one secret are equal, however they are spelt.

    Links are followed and relative paths start at `base`, the host's home. What no reader could tell from the text
    (two variables with one value, an item by its name and by its id) is left to the broker, who compares values.
    """
    found = read(text)
    if isinstance(found, Wrong):
        return text
    match found.kind:
        case "file":
            return f"file:{os.path.realpath(path_of(found, base))}"
        case "keyring":
            service, name = keyring_entry(found)
            return f"keyring:{service}/{name}"
        case "op":
            return f"op:{unquote(op_path(found)).lower()}"  # the program itself takes names in either case
        case "bw":
            return "bw:{}/{}".format(*bw_entry(found)).lower()
        case "pass":
            return f"pass:{pass_name(found)}"
        case _:
            return found.text


def kept_by_host(text: str, base: Path) -> str:
    """Return what the host itself uses the secret behind `text` for; empty if it is none of the host's own."""
    found = read(text)
    if isinstance(found, Wrong):
        return ""
    if found.kind == "env" and _OWN_VARIABLES.match(found.name):
        return "what the host opens a vault with"
    if found.kind == "keyring" and keyring_entry(found)[0] == OWN_SERVICE:
        return "a key of the host itself"
    if found.kind == "file":
        # Links are followed first: the file is what it is, not what it is called.
        path, home = Path(os.path.realpath(path_of(found, base))), Path(os.path.realpath(base))
        if any(path.is_relative_to(home / own) for own in OWN_FILES):
            return "a file of the host itself"
    return ""


def path_of(reference: Reference, base: Path) -> Path:
    """Return the path that a `file:` reference names."""
    return base / Path(reference.name).expanduser()


def keyring_entry(reference: Reference) -> tuple[str, str]:
    """Return service and name of a `keyring:` reference; the name may hold slashes."""
    service, _, name = reference.name.partition("/")
    return service.strip(), name.strip()


def op_path(reference: Reference) -> str:
    """Return what follows `op://`; "op:VAULT/ITEM/FIELD" means the same."""
    return reference.name.removeprefix("//").strip("/ ")


def bw_entry(reference: Reference) -> tuple[str, str]:
    """Return which part of which item a `bw:` reference names."""
    first, slash, rest = reference.name.strip().partition("/")
    return (first, rest.strip()) if slash and first in BW_OBJECTS else ("password", reference.name.strip())


def pass_name(reference: Reference) -> str:
    """Return the entry's name in the password store."""
    return posixpath.normpath(reference.name.strip().strip("/"))


def has_userinfo(text: str) -> bool:
    """Tell whether `text` is a URL with a user name or password in it."""
    if "://" not in text or text.startswith("op://"):  # a vault's name may hold an @
        return False
    try:
        return "@" in urlsplit(text).netloc
    except ValueError:
        return "@" in text


def _is_well_formed(reference: Reference) -> bool:
    if _CONTROL.search(reference.name):
        return False
    match reference.kind:
        case "env":
            return _VARIABLE.match(reference.name) is not None
        case "keyring":
            return all(keyring_entry(reference))
        case "op":
            parts = op_path(reference).partition("?")[0].split("/")
            return len(parts) in _OP_SEGMENTS and all(part.strip() for part in parts)
        case "bw":
            name = bw_entry(reference)[1]
            return bool(name) and not name.startswith("-")  # it would be read as an option
        case "pass":
            return not pass_name(reference).startswith((".", "-"))
        case _:
            return True


def _other(kind: str) -> str:
    return FORMS["file" if kind == "env" else "env"]
