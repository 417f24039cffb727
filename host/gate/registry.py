"""The first stage: the tool exists and the arguments fit its schema (TURN-4, PASS-1).

Nothing before has read the arguments, and nothing after changes them but for secrets. A tool is registered only when
its passport says all there is to say; what it leaves open would be decided by accident.
"""

import difflib
import hashlib
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from host.config.servers import SEPARATOR
from host.errors import ProtocolViolation, Unsupported
from host.gate.judging import Judge
from host.gate.stages import Refusal, Registered, Requested
from host.models.arguments import UnreadableArguments, canonical_arguments, read_arguments
from host.passport import Destination, Effect, Passport
from host.policy.shell.analysis import Analysis
from host.stops import Reason
from host.tools.find_tools import CALL_TOOL, FIND_TOOLS, CallToolArguments
from host.tools.paths import WORKSPACE
from host.tools.tool import Receiver, Tool
from host.vault.masking import MASK

STAGE: Final = "registry"
_MASK_SIGN: Final = "«masked:".encode()
_HANDLE_SIGN: Final = "«secret:"
_HANDLES: Final = "What equals a secret's value is its handle here, and that is text: it takes no number's place."
_LONGEST_TARGET: Final = 300  # characters; beyond them a digest tells two calls apart


class Registry:
    """The tools of one group by name; the list is fixed over a session (CTX-2)."""

    def __init__(self, tools: Mapping[str, Tool], judge: Judge, receiver: Receiver | None = None) -> None:
        """Register `tools` for the model `receiver`; raise Unsupported where a passport is not complete (PASS-1).

        `judge` says what a shell text would do.
        """
        for name, tool in tools.items():
            _check(name, tool.passport)
        self._tools = dict(tools)
        self._judge = judge
        self._capabilities = (receiver or Receiver()).capabilities

    async def resolve(self, requested: Requested) -> Registered:
        """Return the call with its tool and validated arguments; raise Refusal that says how to put it right."""
        tool = self._tools.get(requested.tool)
        if tool is None:
            raise Refusal(STAGE, "unknown-tool", Reason.PROTOCOL_VIOLATION, self._unknown(requested.tool))
        plain = _object(requested)
        passport = tool.passport
        try:
            arguments = passport.fitting(plain)
        except msgspec.ValidationError as error:
            handle = f" {_HANDLES}" if _HANDLE_SIGN in requested.arguments else ""
            text = f"The arguments of {requested.tool} do not fit: {error}.{handle} {_expected(passport)}"
            raise Refusal(STAGE, "arguments", Reason.PROTOCOL_VIOLATION, text) from error
        canonical = canonical_arguments(plain)
        if _MASK_SIGN in canonical and (mask := MASK.search(canonical.decode())):
            text = (
                f"{mask.group()} is a mask, not a value: nothing stands behind it and no tool takes it."
                " Use a handle such as «secret:NAME», or leave that part out."
            )
            raise Refusal(STAGE, "mask", Reason.SECRET_MISSING, text)
        _refuse_held(passport)
        _refuse_lacking(passport, self._capabilities)
        destination = _destination(passport, arguments)
        hosts = _hosts(passport, arguments)
        package = _package(passport, arguments)
        analysis = await self._analysis(passport, arguments)
        within = package or _target(passport, arguments, destination, analysis) or _told(passport, canonical)
        reaching = ", ".join(each.target for each in hosts)
        return Registered(
            requested=requested,
            tool=tool,
            arguments=arguments,
            canonical=canonical,
            passport=_for_call(passport, arguments, analysis, hosts),
            target=f"{within} (reaching {reaching})" if hosts else within,
            destination=destination,
            hosts=hosts,
            within=within if hosts else "",
            package=package,
            analysis=analysis,
        )

    def meant(self, requested: Requested) -> Requested:
        """Return the call that a `call_tool` names in its place, any other call as it is; raise Refusal."""
        if requested.tool != CALL_TOOL or CALL_TOOL not in self._tools:
            return requested
        try:
            given = msgspec.convert(_object(requested), CallToolArguments, strict=True)
        except msgspec.ValidationError as error:
            text = f"The arguments of {CALL_TOOL} do not fit: {error}."
            raise Refusal(STAGE, "arguments", Reason.PROTOCOL_VIOLATION, text) from error
        named = self._tools.get(given.name)
        if named is None or not named.passport.server:
            text = f"{given.name!r} is no tool of a tool server; look with {FIND_TOOLS}, or call it by its own name."
            raise Refusal(STAGE, "unknown-tool", Reason.PROTOCOL_VIOLATION, text)
        arguments = msgspec.json.encode(given.arguments).decode()
        return msgspec.structs.replace(requested, tool=given.name, arguments=arguments)

    async def may_run_beside(self, tool: str, arguments: str) -> bool:
        """Say whether a call as the model wrote it only looks, so that others may run at the same time (PASS-2)."""
        known = self._tools.get(tool)
        if known is None or not known.passport.parallel:
            return False
        passport = known.passport
        if passport.effect_of is None and not passport.command:
            return True
        try:
            fitting = passport.fitting(msgspec.json.decode(arguments.strip() or "{}"))
            hosts = _hosts(passport, fitting)
        except (msgspec.MsgspecError, UnicodeError, RecursionError, Refusal):
            return False  # it will be refused, in its turn
        return _for_call(passport, fitting, await self._analysis(passport, fitting), hosts).parallel

    def effect_of(self, name: str) -> Effect | None:
        """Return the risk class of a tool, None where there is no such tool."""
        tool = self._tools.get(name)
        return tool.passport.effect if tool else None

    async def _analysis(self, passport: Passport, arguments: Any) -> Analysis | None:  # noqa: ANN401 - as below
        return await self._judge(getattr(arguments, passport.command)) if passport.command else None

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._tools, n=1, cutoff=0.5)
        meant = f" Did you mean {near[0]}?" if near else ""
        return f"There is no tool {name[:80]!r}.{meant} The tools are: {', '.join(sorted(self._tools))}."


def _for_call(
    passport: Passport,
    arguments: Any,  # noqa: ANN401 - as below
    analysis: Analysis | None,
    hosts: Sequence[Destination],
) -> Passport:
    """Return the passport for this call; that a command only reads is not proved for one that is let out somewhere."""
    if analysis is None:
        return passport.for_call(arguments)
    return passport.with_effect(Effect.EXECUTE if hosts else analysis.effect)


def _target(
    passport: Passport,
    arguments: Any,  # noqa: ANN401 - as below
    destination: Destination | None,
    analysis: Analysis | None,
) -> str:
    if destination is not None:
        return destination.target
    if analysis is None or analysis.unclear:
        return target_of(passport, arguments)
    grave = [command.text for command in analysis.commands if command.effect is not Effect.READ]
    return "; ".join(grave or [command.text for command in analysis.commands])


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


def _told(passport: Passport, canonical: bytes) -> str:
    """Return the whole call as its target: what a tool of a tool server acts on, only its server knows (APR-2)."""
    if passport.declared is None:
        return ""
    own_name = passport.name.removeprefix(f"{passport.server}{SEPARATOR}")
    whole = f"{own_name} at {passport.server} with {canonical.decode()}"
    if len(whole) <= _LONGEST_TARGET:
        return whole
    return f"{whole[:_LONGEST_TARGET]}… {hashlib.blake2b(whole.encode(), digest_size=8).hexdigest()}"


def _refuse_held(passport: Passport) -> None:
    if passport.held is not None and (why := passport.held()):
        raise Refusal("policy", "tools-held", Reason.POLICY_VIOLATION, why)


def _refuse_lacking(passport: Passport, capabilities: frozenset[str]) -> None:
    """Refuse a tool that needs what the model cannot do and nothing serves instead (TURN-7)."""
    if lacking := sorted(passport.needs - capabilities - set(passport.fallbacks)):
        text = (
            f"{passport.name} needs a model with {', '.join(lacking)}, which this one does not have, and nothing here"
            " serves instead. Say so, and that the capabilities of the model are set in elis.toml."
        )
        raise Refusal(STAGE, "capability", Reason.UNSUPPORTED, text)


def _destination(passport: Passport, arguments: Any) -> Destination | None:  # noqa: ANN401 - as above
    if passport.destination_of is None:
        return None
    try:
        return passport.destination_of(arguments)
    except ProtocolViolation as error:
        text = f"The arguments of {passport.name} do not fit: {error.message}."
        raise Refusal(STAGE, "destination", Reason.PROTOCOL_VIOLATION, text) from error


def _hosts(passport: Passport, arguments: Any) -> tuple[Destination, ...]:  # noqa: ANN401 - as above
    if passport.hosts_of is None:
        return ()
    try:
        return passport.hosts_of(arguments)
    except ProtocolViolation as error:
        text = f"The arguments of {passport.name} do not fit: {error.message}."
        raise Refusal(STAGE, "destination", Reason.PROTOCOL_VIOLATION, text) from error


def _package(passport: Passport, arguments: Any) -> str:  # noqa: ANN401 - as above
    if passport.package_of is None:
        return ""
    try:
        return passport.package_of(arguments)
    except ProtocolViolation as error:
        text = f"The arguments of {passport.name} do not fit: {error.message}."
        raise Refusal(STAGE, "package", Reason.PROTOCOL_VIOLATION, text) from error


def _object(requested: Requested) -> dict[str, Any]:
    """Return the arguments as a JSON object; no text at all counts as an empty one."""
    try:
        return read_arguments(requested.arguments)
    except UnreadableArguments as error:
        text = f"The arguments of {requested.tool} {error}"
        raise Refusal(STAGE, "json", Reason.PROTOCOL_VIOLATION, text) from error


def _expected(passport: Passport) -> str:
    if passport.declared is not None:
        return "Its schema says what it takes."
    fields = msgspec.structs.fields(passport.arguments)
    needed = [field.encode_name for field in fields if field.required]
    other = [field.encode_name for field in fields if not field.required]
    return f"Needed: {', '.join(needed) or 'nothing'}. May be given: {', '.join(other) or 'nothing more'}."


def _check(name: str, passport: Passport) -> None:
    """Raise Unsupported where a passport contradicts itself or leaves unknown arguments through."""
    fields = {field.name for field in msgspec.structs.fields(passport.arguments)}
    named = {*passport.paths, *filter(None, [passport.changed_by, passport.towards])}
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
