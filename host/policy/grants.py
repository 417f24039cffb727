"""What a standing answer covers (APR-1): pure arithmetic over keys.

Everything a call does that a grant may cover is a `Part` with an exact key and, widening, the keys it lies under:
`write:path:docs/a.txt` lies under `write:path:docs/` and `write:path:`, a host under its own name with subdomains, a
command under itself and its options with other plain operands. A grant is a set of keys. A call is covered when each of
its parts is, by whatever grants together, or its kind. How parts come about from arguments is the gate's; what lasts
and who revokes, the record's.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, assert_never

from host.passport import Effect
from host.record.events import Part

LAST_APPROVALS: Final = 3
"""So many approvals in a row that a wider answer would have spared make it the proposed one."""


class Scope(enum.StrEnum):
    """How far an answer reaches."""

    ONCE = "once"  # this call
    TARGET = "target"  # this exact command, path, host or group, whenever it comes again
    UNDER = "under"  # a folder and below, a command with other plain operands, a host with its subdomains
    KIND = "kind"  # this tool with this class of effect, on anything, in this group


def kind_key(tool: str, effect: Effect) -> str:
    """Return the key of "this kind in this group"."""
    return f"kind:{tool}:{effect.value}"


def keys(scope: Scope, parts: Sequence[Part], kind: str) -> tuple[str, ...]:
    """Return what a grant of this scope would hold; nothing where the scope cannot be offered."""
    match scope:
        case Scope.ONCE:
            return ()
        case Scope.TARGET:
            return _distinct(part.exact for part in parts)
        case Scope.UNDER:
            found = [part.under[0] for part in parts if part.under]
            return _distinct(found) if len(found) == len(parts) else ()
        case Scope.KIND:
            return (kind,)
        case _:
            assert_never(scope)


def offered(parts: Sequence[Part], kind: str, *, once_only: bool) -> tuple[Scope, ...]:
    """Return the scopes on offer for a call, the narrowest first."""
    if once_only:
        return (Scope.ONCE,)
    return (Scope.ONCE, *(scope for scope in Scope if keys(scope, parts, kind)))


def covering(parts: Sequence[Part], kind: str, granted: Mapping[str, str]) -> tuple[str, ...]:
    """Return the grants that together cover a call, nothing when a part of it is not covered.

    `granted` gives for each key that stands the grant that holds it.
    """
    if kind in granted:
        return (granted[kind],)
    found = [next((granted[key] for key in (part.exact, *part.under) if key in granted), "") for part in parts]
    return _distinct(found) if parts and all(found) else ()


def proposed(
    parts: Sequence[Part], kind: str, scopes: Sequence[Scope], before: Sequence[tuple[str, Sequence[Part]]]
) -> Scope:
    """Return the narrowest scope on offer that would have covered the last three approvals.

    `before` are kind and parts of what was approved, the newest first.
    """
    latest = before[:LAST_APPROVALS]
    if len(latest) < LAST_APPROVALS:
        return Scope.ONCE
    for scope in scopes:
        granted = dict.fromkeys(keys(scope, parts, kind), "it")
        if granted and all(covering(earlier, its_kind, granted) for its_kind, earlier in latest):
            return scope
    return Scope.ONCE


def _distinct(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))
