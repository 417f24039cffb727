"""A secret planted in every way in and out of a group is kept, shown, logged and sent nowhere (MASK-1, JRN-4, CTX-5).

One group a way; what is looked through is told by `planted`. The installed host with its panel, its commands and its
configuration is looked through in tests/acceptance/test_planted.py.
"""

import asyncio
import base64
import json
import logging
import shlex
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from PIL import Image, ImageDraw, ImageFont

from host.config.settings import GroupSettings, PolicySettings, SandboxSettings, SecretSettings
from host.groups.port import ApprovalView, EventView, Wider
from host.passport import Decision
from host.telemetry import configure
from host.tools.egress import Outside
from host.vault.masking import Masker
from tests.integration.browser.world import ADDRESS, Site, World, answer, certified
from tests.integration.groups.planted import DRAWN, VALUE, kept, told
from tests.integration.groups.stage import BOUND, Stage
from tests.integration.servers.conftest import Served
from tests.scripted_model import Call, Fail, Reply, ScriptedModel

HANDLE: Final = "«secret:api»"
URL: Final = "https://api.example.org/"
ENCODED: Final = base64.b64encode(VALUE.encode()).decode()
ALLOWED: Final[dict[str, Decision]] = dict.fromkeys(("read", "write", "execute", "send", "destroy"), Decision.ALLOW)


class Planted:
    """A group that may use two secrets, and all that comes of it."""

    def __init__(self, served: Served, site: Site, log: Path) -> None:
        self.served = served
        self.stage: Stage = served.stage
        self.model: ScriptedModel = served.stage.model
        self.site = site
        self._log = log
        self._watched = b""
        self._handed_on: list[bytes] = []

    async def ask(self, *calls: Call, text: str = "go", say: str = "done", thought: str = "") -> list[dict[str, Any]]:
        """Let the model make these calls in one step; return how each ended, in order."""
        steps = [Reply(calls=calls, chunks=5)] if calls else []
        last = Reply(text=say, chunks=9, reasoning=thought)
        self.model.respond(lambda _request, _index: steps.pop(0) if steps else last)
        watching = asyncio.create_task(self._watch())
        ended = await self.stage.ask(text)
        await self.stage.idle()
        self.model.respond(None)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        return await self.ends(ended.turn)

    async def ends(self, turn: str) -> list[dict[str, Any]]:
        """Return the ends of a turn's calls."""
        ends = {"call_finished", "call_refused"}
        found = [event.data for event in await self.stage.group.turn_events(turn) if event.kind in ends]
        return sorted(found, key=lambda end: str(end["call"]))

    async def _watch(self) -> None:
        """Do as a panel that follows the group: drafts and events."""
        cursor, after = 0, 0
        while True:
            watched = await self.stage.group.watch(after, cursor, 5)
            cursor = watched.cursor
            after = max([after, *(event.seq for event in watched.events)])
            self._watched += "".join(draft.text for draft in watched.drafts).encode()
            self._watched += repr([event.data for event in watched.events]).encode()

    async def question(self) -> ApprovalView:
        """Return the question that waits, as soon as there is one."""
        async with asyncio.timeout(BOUND):
            while not (waiting := await self.stage.group.approvals()):
                await asyncio.sleep(0.005)
        await self.shown()
        return waiting[0]

    async def shown(self) -> None:
        """Remember what a person is shown beside the events: questions, grants, suggestions."""
        group = self.stage.group
        views = (await group.approvals(), await group.grants(), await group.suggestions())
        self._handed_on.append(repr(views).encode())

    async def leaks(self, value: str = VALUE) -> list[str]:
        """Let go of the group; return where `value` can be had, and in which form."""
        await self.shown()
        events: list[EventView] = list(await self.stage.group.events(0, 5000))
        self.stage.close()
        places: list[tuple[str, bytes]] = [
            ("an event", json.dumps([event.data for event in events], ensure_ascii=False).encode()),
            ("what a panel was shown", self._watched + b"".join(self._handed_on)),
            ("a log", self._log.read_bytes()),
            *((f"request {number} to the model", each.body) for number, each in enumerate(self.model.requests)),
            *((f"the home: {place}", data) for place, data in kept(self.stage.root) if "/workspace/" not in place),
            *(
                (f"what the host kept: {place}", data)
                for place, data in kept(self.stage.workspace)
                if place.startswith((".elis/outputs", "outputs/", "downloads/"))
            ),
        ]
        return sorted({f"{place}, {form}" for place, data in places for form in told(data, value)})


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[Planted]:
    """A group with a listed host, a place for tool servers, and the secrets `api` and `drawn`."""
    vault = tmp_path / "vault"
    vault.mkdir()
    for name, value in (("api", VALUE), ("drawn", DRAWN)):
        (vault / name).write_text(value)
        (vault / name).chmod(0o600)
    masker, log = Masker(), tmp_path / "group.log"
    server, trust, _ = certified(tmp_path, "api.example.org")
    with ScriptedModel() as model, World() as world:
        site = Site()
        world.serve(443, site.handle, server)
        world.names["api.example.org"] = [ADDRESS]
        stage = Stage(tmp_path / "home", model, masker=masker)
        stage.outside = Outside(network=world.network(), trust=lambda: trust)
        stage.secrets = {
            name: SecretSettings(ref=f"file:{vault / name}", tools=("http", "shell")) for name in ("api", "drawn")
        }
        served = Served(stage, tmp_path)
        stage.settings = GroupSettings(
            folders=served.folders,
            policy=PolicySettings(choices=ALLOWED),
            sandbox=SandboxSettings(network=("api.example.org",), packages=("fruit",)),
        )
        stage.workspace.mkdir(parents=True)
        configure(log, masker.tree, human=False)
        yield Planted(served, site, log)
        stage.close()
        for handler in [each for each in logging.getLogger().handlers if getattr(each, "baseFilename", "") == str(log)]:
            logging.getLogger().removeHandler(handler)
            handler.close()


async def said_by_the_person(planted: Planted) -> None:
    """Plant it in a message, also encoded."""
    await planted.ask(text=f"my key is {VALUE}, or {ENCODED}, or {VALUE.encode().hex()}")


async def said_by_the_model(planted: Planted) -> None:
    """Plant it in a reply that comes in pieces, and in what it thinks."""
    await planted.ask(say=f"it is {VALUE}.", thought=f"so {VALUE}")
    await planted.ask(say=f"{ENCODED} is the same")


async def in_a_file_that_is_read(planted: Planted) -> None:
    """Plant it in a file, searched and listed too."""
    (planted.stage.workspace / "config.ini").write_text(f"key = {VALUE}\nsame: {ENCODED}\n")
    (planted.stage.workspace / VALUE.replace("/", "_")).write_text("x")
    await planted.ask(
        Call("read_file", {"path": "config.ini"}), Call("search_files", {"text": "key"}), Call("list_files", {})
    )


async def in_a_file_that_is_written(planted: Planted) -> None:
    """Plant it in the content of a file, in its name and in what is looked for."""
    name = VALUE.replace("/", "_")
    await planted.ask(
        Call("write_file", {"path": f"{VALUE}.txt", "content": VALUE}),
        Call("write_file", {"path": "a.txt", "content": f"a {VALUE} b"}),
        Call("edit_file", {"path": "a.txt", "old_text": VALUE, "new_text": ENCODED}),
        Call("read_file", {"path": f"missing/{VALUE}/{name}"}),
        Call("read_file", {"path": f"../{VALUE}"}),
        Call("search_files", {"text": VALUE}),
    )


async def in_a_command(planted: Planted) -> None:
    """Plant it in a command line, in its folder, and in what it says on both outputs."""
    await planted.ask(
        Call("shell", {"command": f"echo {shlex.quote(VALUE)}; echo {shlex.quote(VALUE)} | base64 >&2; exit 3"}),
        Call("shell", {"command": f"X={shlex.quote(VALUE)} printenv X; echo {VALUE} | od -c | head"}),
        Call("shell", {"command": "pwd", "cwd": VALUE}),
    )


async def in_output_that_comes_in_pieces(planted: Planted) -> None:
    """Plant it one character a write, with long output before it that is kept in a file."""
    one_by_one = "sys.stdout.write(c); sys.stdout.flush(); time.sleep(.002)"
    code = f"import sys, time\nfor c in {VALUE + ' ' + ENCODED!r}: {one_by_one}"
    long = (
        f"yes 'a long line of output that goes on and on' | head -n 3000; echo {shlex.quote(VALUE)}; yes b | head -n 9"
    )
    await planted.ask(Call("shell", {"command": f"python3 -c {shlex.quote(code)}"}), Call("shell", {"command": long}))


async def lent_to_a_command(planted: Planted) -> None:
    """Plant it by its handle."""
    (end,) = await planted.ask(Call("shell", {"command": f"echo {HANDLE}; echo -n {HANDLE} | base64; ls {HANDLE}"}))
    assert HANDLE in end["result"]


async def in_an_answer_of_a_web_server(planted: Planted) -> None:
    """Plant it in headers, body, redirect, error and a long body; and send it by its handle."""
    planted.site.answers |= {
        "/": answer(f"you said {VALUE} or {ENCODED}".encode(), etag=VALUE, location=VALUE),
        "/bad": answer(VALUE.encode(), f"500 {VALUE}"),
        "/away": answer(b"", "302 Found", location=f"https://{VALUE}@api.example.org/"),
        "/off": answer(b"", "302 Found", location=f"https://other.example.com/?k={VALUE}"),
        "/long": answer(("line\n" * 20_000 + VALUE).encode()),
    }
    headers = {"authorization": f"Bearer {HANDLE}"}
    ends = await planted.ask(
        *(Call("http", {"url": URL + path, "headers": headers}) for path in ("", "bad", "away", "off", "long")),
        Call("http", {"url": f"{URL}?k={VALUE}"}),
        Call("http", {"url": URL, "method": "POST", "json": {"k": VALUE}}),
        Call("http", {"url": f"https://{VALUE}/"}),
        Call("http", {"url": URL, "headers": {VALUE: VALUE}}),
    )
    assert HANDLE in ends[0]["result"]
    assert planted.site.seen[0].headers["authorization"] == f"Bearer {VALUE}"


async def in_a_tool_server(planted: Planted) -> None:
    """Plant it in what a server says, its failures, its standard error, its tools and their descriptions."""
    tools = [
        {"name": "echo", "description": f"Says {VALUE}.", "inputSchema": {"type": "object"}},
        {"name": "fail", "description": "x", "inputSchema": {"type": "object", "description": ENCODED}},
        {"name": f"odd {VALUE}", "description": "x", "inputSchema": {"type": "object"}},
        {"name": "crash", "description": "x", "inputSchema": {"type": "object"}},
        {"name": "stderr", "description": "x", "inputSchema": {"type": "object"}},
    ]
    planted.served.server(script={"tools": tools, "stderr": f"starting with {VALUE}", "strays": [VALUE]})
    planted.served.server("gone", script={"tools": VALUE})
    await planted.ask(
        Call("odd__echo", {"text": f"{VALUE} {ENCODED}"}),
        Call("odd__stderr", {"text": VALUE}),
        Call(f"odd__{VALUE}", {}),
        Call("odd__crash", {}),
    )


async def in_a_package_name(planted: Planted) -> None:
    """Plant it in the names of a package and of a tool, and in arguments that fit no schema."""
    await planted.ask(
        Call("install_package", {"package": VALUE}),
        Call(VALUE, {}),
        Call("read_file", {VALUE: VALUE}),
        Call("read_file", f'{{"path": "{VALUE}'),
        Call("http", {"url": URL, "method": VALUE}),
    )


async def in_failures_of_the_model(planted: Planted) -> None:
    """Plant it in what a provider says when it refuses."""
    planted.model.script(Fail(400, body=json.dumps({"error": {"message": f"bad key {VALUE} {ENCODED}"}})))
    await planted.stage.ask("go")
    planted.model.script(Fail(503, body=VALUE), Reply(text="then"))
    await planted.stage.ask("go on")
    await planted.stage.idle()


@pytest.mark.clause("MASK-1")
async def test_a_typical_form_in_a_provider_s_refusal_is_masked_though_nobody_lent_it(planted: Planted) -> None:
    """Providers quote the key that they refuse."""
    key = "ghp_" + "Zk7wQ9x4eT3mBpLntdR8sVy2LqHd5JcKf0aX"
    planted.model.script(Fail(400, body=json.dumps({"error": {"message": f"this is no key: {key}"}})))
    ended = await planted.stage.ask("go")
    assert "«masked:" in ended.data["detail"]
    assert [place for place in await planted.leaks(key) if place.endswith("as it is")] == []


async def in_a_question(planted: Planted) -> None:
    """Plant it in a call that is asked about, in the reason of a refusal, and in a standing answer."""
    asking = PolicySettings(choices=ALLOWED | {"shell": Decision.ASK})
    planted.stage.settings = msgspec.structs.replace(planted.stage.settings, policy=asking)
    call = Call("shell", {"command": f"touch {shlex.quote(VALUE.replace('/', '_'))} {shlex.quote(VALUE)} {ENCODED}"})
    for verdict, scope in (("denied", "once"), ("allowed", "target")):
        planted.model.script(Reply(text=f"I do it with {VALUE}", calls=[call], chunks=7), Reply(text="done"))
        placement = await planted.stage.say()
        question = await planted.question()
        wider = Wider(scope=scope) if scope in question.scopes and scope != "once" else None
        await planted.stage.group.settle(
            question.id, verdict=verdict, by="operator", text=f"not with {VALUE}", wider=wider
        )
        await planted.stage.ended(placement)
        await planted.stage.idle()


async def in_words_with_a_person(planted: Planted) -> None:
    """Plant it in a question to the person, and in the answer."""
    planted.model.script(Reply(calls=[Call("ask_person", {"question": f"Is it {VALUE}?"})]), Reply(text="done"))
    placement = await planted.stage.say()
    question = await planted.question()
    await planted.stage.group.settle(question.id, verdict="answered", by="operator", text=f"No, {VALUE} or {ENCODED}")
    await planted.stage.ended(placement)


async def in_the_charter(planted: Planted) -> None:
    """Plant it in what the operator wrote for the model."""
    (planted.stage.root / "groups" / "main" / "charter.md").write_text("Log in with the key that you are lent.\n")
    await planted.ask()
    planted.stage.close()
    (planted.stage.root / "groups" / "main" / "charter.md").write_text(f"Log in with {VALUE} or {ENCODED}.\n")
    await planted.ask()
    (planted.stage.root / "groups" / "main" / "charter.md").unlink()  # the operator's own file is no leak


WAYS: Final[tuple[Callable[[Planted], Awaitable[None]], ...]] = (
    said_by_the_person,
    said_by_the_model,
    in_a_file_that_is_read,
    in_a_file_that_is_written,
    in_a_command,
    in_output_that_comes_in_pieces,
    lent_to_a_command,
    in_an_answer_of_a_web_server,
    in_a_tool_server,
    in_a_package_name,
    in_failures_of_the_model,
    in_a_question,
    in_words_with_a_person,
    in_the_charter,
)


@pytest.mark.clause("MASK-1", "JRN-4", "SEC-2")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_a_planted_secret_is_found_nowhere_and_can_still_be_used(
    planted: Planted, way: Callable[[Planted], Awaitable[None]]
) -> None:
    """Journal, log, drafts, questions, requests to the model; a later turn uses it by its handle."""
    await way(planted)
    planted.stage.close()
    await planted.ask(Call("http", {"url": f"{URL}later", "headers": {"x-key": HANDLE}}))
    assert planted.site.seen[-1].headers["x-key"] == VALUE
    assert await planted.leaks() == []


@pytest.mark.clause("MASK-1", "TURN-7")
async def test_a_planted_secret_in_an_image_is_masked_where_ocr_reads_it(planted: Planted) -> None:
    """Words of images are masked as all output is. A model that sees is shown the image itself (docs/security.md)."""
    image = Image.new("RGB", (900, 200), "white")
    ImageDraw.Draw(image).text((30, 60), DRAWN, fill="black", font=ImageFont.load_default(size=48))
    image.save(planted.stage.workspace / "photo.png")
    (end,) = await planted.ask(Call("read_file", {"path": "photo.png"}))
    assert "«secret:drawn»" in end["result"]
    assert await planted.leaks(DRAWN) == []
