"""Scripts as JSON files, for the server that stands alone.

    {"models": ["scripted"],              names that /v1/models lists
     "api_key": "…",                      the key it insists on; absent: any
     "rules": [{"last": "…",              a substring of the last message's text,
                "body": "…",              and/or of the whole body,
                "model": "…",             and/or the model's exact name; all given must hold
                "steps": [STEP, …],       what answers a request that matches; "echo" instead of a list: its last text
                "loop": true}],           repeated without end (default), or each step once
     "steps": [STEP, …],                  what answers the others, in order
     "loop": false,                       whether `steps` begin again
     "respond": "echo"}                   what answers when no step is left: the last message's own text; absent: 400

STEP is a reply: {"text", "calls": [{"tool", "arguments": {…} or "raw text", "id"}], "usage": [in, out, cached] or null,
"chunks", "chunk_delay": seconds, "pause": "a path: waits until that file exists", "pause_after", "finish", "reasoning",
"call_style"}, every key optional; or one of {"fail": {"status", "headers", "body"}}, {"drop": {"after_chunks", "clean",
"reply": {…}}}, {"hang": {"after_chunks", "reply"}}, {"rubbish": {"body", "status", "content_type"}}.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from tests.scripted_model.script import echo
from tests.scripted_model.server import ScriptedModel
from tests.scripted_model.steps import Call, Drop, Fail, Hang, Reply, Rubbish, Step, Usage
from tests.scripted_model.wire import last_text


class FileGate:
    """Opens when a file appears."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_set(self) -> bool:
        """Say whether the file is there."""
        return self._path.exists()


class _FileReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage | None = (12, 7, 0)
    chunks: int = 3
    chunk_delay: float = 0.0
    pause: str | None = None
    pause_after: int = 1
    finish: str | None = None
    reasoning: str = ""
    call_style: Literal["split", "whole", "no_index"] = "split"

    def reply(self) -> Reply:
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__}
        fields["pause"] = None if self.pause is None else FileGate(Path(self.pause))
        return Reply(**fields)


class _Broken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    after_chunks: int = 1
    clean: bool = False
    reply: _FileReply = _FileReply(text="a reply that is cut off by its script")


class _FileRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    steps: list[dict[str, Any]] | Literal["echo"]
    last: str = ""
    body: str = ""
    model: str = ""
    loop: bool = True

    def matches(self, request: dict[str, Any]) -> bool:
        return (
            self.last in last_text(request)
            and (not self.model or self.model == request.get("model"))
            and (not self.body or self.body in msgspec.json.encode(request).decode())
        )


class ScriptFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A script as the file says it."""

    models: tuple[str, ...] = ("scripted",)
    api_key: str | None = None
    rules: tuple[_FileRule, ...] = ()
    steps: Sequence[dict[str, Any]] = ()
    loop: bool = False
    respond: Literal["echo"] | None = None


def step_of(raw: dict[str, Any]) -> Step:
    """Return the step that a file's object means; raise msgspec.ValidationError."""
    match raw:
        case {"fail": fail}:
            return msgspec.convert(fail, Fail)
        case {"drop": drop}:
            broken = msgspec.convert(drop, _Broken)
            return Drop(broken.after_chunks, broken.reply.reply(), broken.clean)
        case {"hang": hang}:
            broken = msgspec.convert({"after_chunks": 0, **hang}, _Broken)
            return Hang(broken.after_chunks, broken.reply.reply())
        case {"rubbish": rubbish}:
            return msgspec.convert(rubbish, Rubbish)
        case _:
            return msgspec.convert(raw, _FileReply).reply()


def server_of(path: Path, port: int = 0) -> ScriptedModel:
    """Return a server, not started, that follows the file; raise msgspec.ValidationError naming what is wrong."""
    script = msgspec.json.decode(path.read_bytes(), type=ScriptFile)
    server = ScriptedModel(port=port, models=script.models, api_key=script.api_key)
    for rule in script.rules:
        steps = [echo] if rule.steps == "echo" else [step_of(step) for step in rule.steps]
        server.when(rule.matches, *steps, loop=rule.loop)
    server.script(*map(step_of, script.steps), loop=script.loop)
    if script.respond == "echo":
        server.script(echo, loop=True)
    return server
