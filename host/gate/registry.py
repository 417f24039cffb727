"""The first stage: the tool exists and the arguments fit its schema (TURN-4, PASS-1).

Nothing before has read the arguments, and nothing after changes them but for secrets.
"""

import difflib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from host.gate.stages import Refusal, Registered, Requested
from host.stops import Reason
from host.tools.tool import Tool
from host.vault.masking import MASK

STAGE: Final = "registry"
_ORDERED: Final = msgspec.json.Encoder(order="sorted")


class Registry:
    """The tools of one group by name; the list is fixed over a session (CTX-2)."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
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
        canonical = _ORDERED.encode(plain)
        if mask := MASK.search(canonical.decode()):
            text = (
                f"{mask.group()} is a mask, not a value: nothing stands behind it. Use a handle such as «secret:NAME»."
            )
            raise Refusal(STAGE, "mask", Reason.SECRET_MISSING, text)
        target = str(plain.get(passport.changed_by, "")) if passport.changed_by else ""
        return Registered(requested=requested, tool=tool, arguments=arguments, canonical=canonical, target=target)

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._tools, n=1, cutoff=0.5)
        meant = f" Did you mean {near[0]}?" if near else ""
        return f"There is no tool {name!r}.{meant} The tools are: {', '.join(sorted(self._tools))}."


def _object(requested: Requested) -> dict[str, Any]:
    """Return the arguments as a JSON object; no text at all counts as an empty one."""
    try:
        plain = msgspec.json.decode(requested.arguments.strip() or "{}")
    except msgspec.DecodeError as error:
        text = f"The arguments of {requested.tool} are no valid JSON ({error}). Send one JSON object."
        raise Refusal(STAGE, "json", Reason.PROTOCOL_VIOLATION, text) from error
    if not isinstance(plain, dict):
        text = f"The arguments of {requested.tool} must be one JSON object, not {type(plain).__name__}."
        raise Refusal(STAGE, "json", Reason.PROTOCOL_VIOLATION, text)
    return plain


def _expected(arguments: type[msgspec.Struct]) -> str:
    fields = msgspec.structs.fields(arguments)
    needed = [field.encode_name for field in fields if field.required]
    other = [field.encode_name for field in fields if not field.required]
    return f"Needed: {', '.join(needed) or 'nothing'}. May be given: {', '.join(other) or 'nothing more'}."
