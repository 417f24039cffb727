"""The first stage: the tool exists and the arguments fit its schema (TURN-4, PASS-1).

Nothing before has read the arguments, and nothing after changes them but for secrets. A tool is registered only when
its passport says all there is to say; what it leaves open would be decided by accident.
"""

import difflib
import posixpath
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from host.errors import Unsupported
from host.gate.stages import Refusal, Registered, Requested
from host.models.arguments import UnreadableArguments, canonical_arguments, read_arguments
from host.passport import Effect, Passport
from host.stops import Reason
from host.tools.paths import WORKSPACE
from host.tools.tool import Tool
from host.vault.masking import MASK

STAGE: Final = "registry"
_MASK_SIGN: Final = "«masked:".encode()


class Registry:
    """The tools of one group by name; the list is fixed over a session (CTX-2)."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        """Register `tools`; raise Unsupported for one whose passport is not complete (PASS-1)."""
        for name, tool in tools.items():
            _check(name, tool.passport)
        self._tools = dict(tools)

    def resolve(self, requested: Requested) -> Registered:
        """Return the call with its tool and validated arguments; raise Refusal that says how to put it right."""
        tool = self._tools.get(requested.tool)
        if tool is None:
            raise Refusal(STAGE, "unknown-tool", Reason.PROTOCOL_VIOLATION, self._unknown(requested.tool))
        plain = _object(requested)
        passport = tool.passport
        try:
            arguments = msgspec.convert(plain, passport.arguments, strict=True)
        except msgspec.ValidationError as error:
            text = f"The arguments of {requested.tool} do not fit: {error}. {_expected(passport.arguments)}"
            raise Refusal(STAGE, "arguments", Reason.PROTOCOL_VIOLATION, text) from error
        canonical = canonical_arguments(plain)
        if _MASK_SIGN in canonical and (mask := MASK.search(canonical.decode())):
            text = (
                f"{mask.group()} is a mask, not a value: nothing stands behind it and no tool takes it."
                " Use a handle such as «secret:NAME», or leave that part out."
            )
            raise Refusal(STAGE, "mask", Reason.SECRET_MISSING, text)
        target = target_of(passport, arguments)
        return Registered(requested=requested, tool=tool, arguments=arguments, canonical=canonical, target=target)

    def effect_of(self, name: str) -> Effect | None:
        """Return the risk class of a tool, None where there is no such tool."""
        tool = self._tools.get(name)
        return tool.passport.effect if tool else None

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._tools, n=1, cutoff=0.5)
        meant = f" Did you mean {near[0]}?" if near else ""
        return f"There is no tool {name[:80]!r}.{meant} The tools are: {', '.join(sorted(self._tools))}."


def target_of(passport: Passport, arguments: Any) -> str:  # noqa: ANN401 - an instance of the passport's struct
    """Return what the call acts on: one spelling for one path or command, so that intents can be told apart (APR-2)."""
    name = passport.changed_by or min(passport.paths, default="")
    value = getattr(arguments, name, "") if name else ""
    if not isinstance(value, str):
        return ""
    if name not in passport.paths:
        return " ".join(value.split())
    inside = value.removeprefix(WORKSPACE) if value == WORKSPACE or value.startswith(f"{WORKSPACE}/") else value
    return posixpath.normpath(inside.lstrip("/") if inside != value else inside) if value else ""


def _object(requested: Requested) -> dict[str, Any]:
    """Return the arguments as a JSON object; no text at all counts as an empty one."""
    try:
        return read_arguments(requested.arguments)
    except UnreadableArguments as error:
        text = f"The arguments of {requested.tool} {error}"
        raise Refusal(STAGE, "json", Reason.PROTOCOL_VIOLATION, text) from error


def _expected(arguments: type[msgspec.Struct]) -> str:
    fields = msgspec.structs.fields(arguments)
    needed = [field.encode_name for field in fields if field.required]
    other = [field.encode_name for field in fields if not field.required]
    return f"Needed: {', '.join(needed) or 'nothing'}. May be given: {', '.join(other) or 'nothing more'}."


def _check(name: str, passport: Passport) -> None:
    """Raise Unsupported where a passport contradicts itself or leaves unknown arguments through."""
    fields = {field.name for field in msgspec.structs.fields(passport.arguments)}
    named = {*passport.paths, *filter(None, [passport.changed_by])}
    problems = (
        (name != passport.name, f"it is registered as {name}"),
        (not passport.summary.strip(), "its summary is empty"),
        (not passport.timeout_seconds > 0, "its time-out is not above 0"),
        (not named <= fields, f"it names arguments that its schema lacks: {', '.join(sorted(named - fields))}"),
        (not passport.arguments.__struct_config__.forbid_unknown_fields, "its schema lets unknown fields pass"),
    )
    for wrong, what in problems:
        if wrong:
            message = f"the tool {passport.name} cannot be registered: {what}; complete its passport"
            raise Unsupported(message)
