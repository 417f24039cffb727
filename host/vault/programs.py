"""Vaults that a program of their own opens: 1Password (`op`), Bitwarden (`bw`), the password store (`pass`).

Each is a line of a table: its command, which variables of the host's environment it may see and why, and what its
documented messages mean. Its words never reach anybody, because they may quote what they speak of; its exit and a few
fixed phrases become a sentence of ours with the remedy. The program decides who may read; nothing is kept here.
"""

import shutil
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from host.config.references import Reference, bw_entry, op_path, pass_name
from host.vault.command import Finished, TooSlow, run
from host.vault.missing import as_text, missing

EVERYWHERE: Final = (
    "HOME",  # each program keeps its accounts or its store beneath it
    "PATH",  # pass is a script that calls gpg and tree
    "USER",  # op asks the desktop app in this user's name
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",  # op and bw keep their accounts there
    "XDG_RUNTIME_DIR",  # sockets of gpg-agent and of op's own agent
)
_NETWORK: Final = (
    "HTTP_PROXY",  # op and bw ask a server, which may lie behind a proxy
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
)
_LOCALE: Final = "C.UTF-8"  # gpg speaks the user's language otherwise, and its phrases would not be known
_BY_HAND: Final = "by hand as the user who runs the host to see why"
_TREE: Final = ("├", "└", "│", "|", "`")


class _Program(msgspec.Struct, frozen=True, kw_only=True):
    """How one program is asked, and what its answers mean."""

    program: str
    what: str  # for people
    arguments: Callable[[Reference], tuple[str, ...]]
    passes: tuple[str, ...]  # variables beside EVERYWHERE; a name that ends in * stands for all that begin so
    phrases: tuple[tuple[tuple[str, ...], str], ...]  # phrases in lower case, and the sentence they mean
    adds: Callable[[Mapping[str, str]], dict[str, str]] = lambda _: {}
    first_line: bool = False  # only the first line is the secret


_PROGRAMS: Final = {
    "op": _Program(
        program="op",
        what="1Password's program",
        arguments=lambda reference: ("read", "--no-newline", f"op://{op_path(reference)}"),
        passes=(
            *_NETWORK,
            "OP_SERVICE_ACCOUNT_TOKEN",  # how a host without a person signs in
            "OP_CONNECT_HOST",  # a Connect server instead
            "OP_CONNECT_TOKEN",
            "OP_SESSION*",  # what `op signin` printed
            "OP_ACCOUNT",  # which of several accounts
            "OP_CONFIG_DIR",
            "OP_CACHE",
            "OP_BIOMETRIC_UNLOCK_ENABLED",
        ),  # not OP_FORMAT and OP_DEBUG: they change what is printed
        phrases=(
            (
                ("not currently signed in", "not signed in", "no accounts configured", "session expired", "signin"),
                "1Password's program is not signed in; sign in as the user who runs the host, or start the host with"
                " OP_SERVICE_ACCOUNT_TOKEN",
            ),
            (
                ("prompt dismissed", "desktop app", "1password app", "authorization denied", "biometric"),
                "1Password's app is locked or refused; unlock it, or start the host with OP_SERVICE_ACCOUNT_TOKEN",
            ),
            (
                ("isn't an item", "isn't a vault", "isn't a field", "could not find", "not found", "no item matched"),
                "1Password has no such vault, item or field, or this account may not see it; mend the reference",
            ),
        ),
    ),
    "bw": _Program(
        program="bw",
        what="Bitwarden's program",
        arguments=lambda reference: ("--nointeraction", "--raw", "get", *bw_entry(reference)),
        passes=(
            *_NETWORK,
            "NODE_EXTRA_CA_CERTS",  # it is a Node program
            "BW_SESSION",  # the key that `bw unlock` printed
            "BITWARDENCLI_APPDATA_DIR",
        ),  # not BW_RESPONSE, BW_PRETTY and BW_QUIET: they change what is printed
        phrases=(
            (
                ("not logged in",),
                "Bitwarden's program is not logged in; run `bw login` as the user who runs the host",
            ),
            (
                ("vault is locked", "master password"),
                "Bitwarden's vault is locked; run `bw unlock` and start the host with the BW_SESSION that it prints",
            ),
            (
                ("more than one result",),
                "Bitwarden has several items of that name; write the id of the one that is meant",
            ),
            (
                ("not found", "no password available"),
                "Bitwarden has no such item, or nothing in it; mend the reference",
            ),
        ),
    ),
    "pass": _Program(
        program="pass",
        what="the password store's program",
        arguments=lambda reference: ("show", pass_name(reference)),
        passes=(
            "GNUPGHOME",  # the keys
            "PASSWORD_STORE_DIR",  # the store
            "PASSWORD_STORE_GPG_OPTS",
        ),
        # A host has nobody to type a passphrase: gpg must fail at once instead of opening a window somewhere.
        adds=lambda host: {
            "PASSWORD_STORE_GPG_OPTS": f"{host.get('PASSWORD_STORE_GPG_OPTS', '')} --pinentry-mode=error".strip()
        },
        first_line=True,
        phrases=(
            (
                ("is not in the password store",),
                "the password store has no such entry; mend the reference, or add it with `pass insert`",
            ),
            (
                ("password store is empty",),
                "there is no password store; make one with `pass init`, or start the host with PASSWORD_STORE_DIR",
            ),
            (
                ("decryption failed", "no secret key", "pinentry", "passphrase", "inappropriate ioctl"),
                "gpg cannot decrypt it: the key is locked or not there; run `pass show` once as the user who runs the"
                " host, so that gpg-agent has the key open",
            ),
        ),
    ),
}


def ask(reference: Reference, environment: Mapping[str, str], seconds: float) -> str:
    """Return the value that the program of the reference's kind tells; raise SecretMissing."""
    known = _PROGRAMS[reference.kind]
    built = environment_for(reference.kind, environment)
    path = shutil.which(known.program, path=built.get("PATH", ""))
    if path is None:
        cause = (
            f"{known.what} `{known.program}` is not installed, or not on the host's PATH; install it and start again"
        )
        raise missing(reference, cause)
    try:
        finished = run((path, *known.arguments(reference)), built, seconds)
    except TooSlow:
        cause = f"`{known.program}` did not answer within {seconds:g} s; see whether it waits for somebody, and unlock"
        raise missing(reference, f"{cause} its vault first") from None
    except OSError as error:
        cause = f"`{known.program}` cannot be started ({error.strerror}); mend the program at {path}"
        raise missing(reference, cause) from None
    return _value(reference, known, finished)


def environment_for(kind: str, host: Mapping[str, str]) -> dict[str, str]:
    """Return what the program of a kind may see of the host's environment (SEC-3)."""
    known = _PROGRAMS[kind]
    names = {*EVERYWHERE, *(name for name in known.passes if not name.endswith("*"))}
    beginnings = tuple(name[:-1] for name in known.passes if name.endswith("*"))
    passed = {
        name: value
        for name, value in host.items()
        if value and (name in names or (beginnings and name.startswith(beginnings)))
    }
    return {**passed, **known.adds(host), "LC_ALL": _LOCALE}


def _value(reference: Reference, known: _Program, finished: Finished) -> str:
    if finished.code != 0:
        raise missing(reference, _cause(known, finished))
    if finished.cut and not (known.first_line and b"\n" in finished.out):
        cause = f"`{known.program}` wrote more than any secret holds; mend the reference"
        raise missing(reference, cause)
    if known.first_line:
        value = _first_line(reference, finished.out)
    else:
        value = as_text(reference, finished.out, "the entry").removesuffix("\n").removesuffix("\r")
    if not value.strip():
        raise missing(reference, f"`{known.program}` answered with nothing; keep a value there")
    return value


def _first_line(reference: Reference, out: bytes) -> str:
    line, _, rest = out.partition(b"\n")
    value = as_text(reference, line, "the entry").removesuffix("\r")
    second = rest.decode("utf-8", "replace").lstrip()
    if value.strip() == pass_name(reference) and (not rest.strip() or second.startswith(_TREE)):
        raise missing(reference, "that is a folder of the password store; name an entry in it")
    return value


def _cause(known: _Program, finished: Finished) -> str:
    said = (finished.err + b"\n" + finished.out).decode("utf-8", "replace").lower()
    for phrases, sentence in known.phrases:
        if any(phrase in said for phrase in phrases):
            return sentence
    how = f"ended with code {finished.code}" if finished.code > 0 else f"was ended by signal {-finished.code}"
    return f"`{known.program}` {how}; run it {_BY_HAND}"
