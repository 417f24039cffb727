"""A secret planted in the ways of an installed host: panel, API, live events, logs, commands, export, configuration.

What a single group does with it, way by way, is shown in tests/integration/groups/test_planted.py.
"""

import base64
import contextlib
import hashlib
import json
import shlex
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from host.groups.ray_folder import RayFolder
from tests.acceptance.host import Host, hosted
from tests.integration.groups.planted import VALUE, kept, told
from tests.scripted_model import Call, Reply, ScriptedModel

HANDLE: Final = "«secret:api»"
ENCODED: Final = base64.b64encode(VALUE.encode()).decode()
PROGRAM: Final = (Path(__file__).parents[1] / "integration" / "servers" / "program.py").read_text()

SETTINGS: Final = """
[host]
listen = "127.0.0.1:0"

[models.main]
provider = "openai"
base_url = "{url}"
model = "scripted"

[secrets.api]
ref = "file:{vault}"
tools = ["shell", "http"]

[groups.main]
[groups.main.policy]
execute = "allow"
destroy = "allow"
send = "allow"
install_package = "ask"
[groups.main.folders.programs]
path = "{programs}"

[mcp.odd]
groups = ["main"]
command = ["/usr/bin/python3", "/workspace/programs/program.py", {script}]
folders = ["programs"]
"""

SCRIPT: Final = {
    "stderr": f"server log with {VALUE}",
    "tools": [
        {"name": "echo", "description": f"Says {VALUE}.", "inputSchema": {"type": "object"}},
        {"name": f"odd {VALUE}", "description": ENCODED, "inputSchema": {"type": "object"}},
    ],
}

CALLS: Final[dict[str, tuple[Call, ...]]] = {
    "files": (
        Call("read_file", {"path": "config.ini"}),
        Call("write_file", {"path": "b.txt", "content": VALUE}),
        Call("read_file", {"path": f"no/{VALUE}"}),
    ),
    "commands": (
        Call("shell", {"command": f"echo {shlex.quote(VALUE)}; echo {ENCODED} >&2; exit 3"}),
        Call("shell", {"command": f"echo {HANDLE}; ls {HANDLE}"}),
    ),
    "server": (Call("odd__echo", {"text": f"{VALUE} {ENCODED}"}), Call("odd__none", {"x": VALUE})),
    "question": (Call("install_package", {"package": "fruit"}), Call("ask_person", {"question": f"Is it {VALUE}?"})),
    "later": (Call("shell", {"command": f"printf %s {HANDLE} | sha256sum"}),),
}


def play(request: dict[str, Any], _index: int) -> Reply:
    """Answer by the last words of the person: first the calls of that name, then words with the secret in them."""
    messages = request["messages"]
    last = max(index for index, message in enumerate(messages) if message["role"] == "user" and named(message))
    done = sum(message["role"] == "assistant" for message in messages[last:])
    calls = CALLS.get(named(messages[last]), ())
    if done < len(calls):
        return Reply(text=f"with {VALUE}", calls=[calls[done]], chunks=7)
    return Reply(text=f"That was {VALUE}, or {ENCODED}.", chunks=11)


def named(message: dict[str, Any]) -> str:
    """Return what a message of the person asks for."""
    content = message["content"]
    words = content.split() if isinstance(content, str) else []
    return words[0] if words and words[0] in {*CALLS, "hello"} else ""


class Follower(threading.Thread):
    """Does as a panel that is open: hears all live events and drafts of the group."""

    def __init__(self, host: Host) -> None:
        super().__init__(name="follower", daemon=True)
        self._host = host
        self.heard = b""

    def run(self) -> None:
        """Hear until the host goes."""
        headers = {**self._host.headers(), "accept": "text/event-stream"}
        with (
            contextlib.suppress(httpx2.HTTPError),
            httpx2.stream(
                "GET",
                self._host.url("/groups/main/events?html=true"),
                headers=headers,
                timeout=120,
                trust_env=False,
            ) as answer,
        ):
            for piece in answer.iter_bytes():
                self.heard += piece


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    """A model that says the secret whenever it speaks."""
    with ScriptedModel() as server:
        server.respond(play)
        yield server


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel) -> Iterator[Host]:
    """A host whose group may use the secret."""
    top = tmp_path_factory.mktemp("planted")
    (top / "vault").write_text(VALUE)
    (top / "vault").chmod(0o600)
    (top / "programs").mkdir()
    (top / "programs" / "program.py").write_text(PROGRAM)
    home = top / "elis"
    group = home / "groups" / "main"
    (group / "workspace").mkdir(parents=True)
    (group / "workspace" / "config.ini").write_text(f"key = {VALUE}\nsame = {ENCODED}\n")
    (group / "charter.md").write_text(f"Log in with {VALUE} or {ENCODED}.\n")
    script = json.dumps(json.dumps(SCRIPT, ensure_ascii=False).replace(VALUE, VALUE), ensure_ascii=False)
    settings = SETTINGS.format(url=model.base_url, vault=top / "vault", programs=top / "programs", script=script)
    with hosted(home, settings) as running:
        yield running


def answered(host: Host) -> None:
    """Let the model ask its questions, and answer them with the secret in every word."""
    message = host.post("/groups/main/messages", {"text": "question", "key": "question"})
    turn = message.json()["turn"]
    first = host.question("main")
    host.run("approvals")
    host.post(f"/approvals/{first['id']}", {"verdict": "deny", "text": f"not with {VALUE}"})
    host.wait(lambda: any(each["id"] != first["id"] for each in host.get("/approvals")))
    second = host.question("main")
    host.post(f"/approvals/{second['id']}", {"verdict": "answer", "text": f"no, {VALUE}, or {ENCODED}"})
    host.wait(lambda: any(each["kind"] == "turn_ended" for each in host.get(f"/groups/main/turns/{turn}")))


def commands(host: Host, turn: str) -> dict[str, bytes]:
    """Return what every command that shows something says."""
    asked = (
        ("status",), ("doctor",), ("approvals",), ("grants", "main"), ("secrets", "status"), ("tools", "main"),
        ("tools", "main", "odd"), ("journal", "main", "show", turn), ("journal", "main", "search", "key"),
        ("journal", "main", "verify"), ("journal", "main", "export"), ("group", "list"), ("mask", "main"),
    )  # fmt: skip
    found: dict[str, bytes] = {}
    for words in asked:
        done = host.run(*words)
        found[f"elis {' '.join(words)}"] = (done.stdout + done.stderr).encode()
    return found


def pages(host: Host) -> dict[str, bytes]:
    """Return what the panel and every route of the API that shows something say."""
    events = host.get("/groups/main/events?limit=1000")
    sent = [f"/groups/main/requests/{event['seq']}" for event in events if event["kind"] == "request_sent"]
    turns = [f"/groups/main/turns/{each['turn']}" for each in host.get("/groups/main/turns")]
    routes = (
        "/status", "/approvals", "/suggestions", "/assisted", "/groups", "/groups/main", "/groups/main/grants",
        "/secrets", "/groups/main/instructions", "/groups/main/queue", "/groups/main/events?limit=1000",
        "/groups/main/events?limit=1000&html=true", "/groups/main/turns", "/groups/main/journal/search?text=secret",
        "/groups/main/journal/search?text=key", "/groups/main/journal/export", "/groups/main/tools",
        "/groups/main/tools/odd", *sent, *turns,
    )  # fmt: skip
    found: dict[str, bytes] = {}
    with signed_in(host) as browser:
        for path in ("/", "/groups/main", *(f"/api/v1{route}" for route in routes)):
            answer = browser.get(path)
            assert answer.status_code == 200, (path, answer.text)
            found[path] = answer.content
    return found


@contextlib.contextmanager
def signed_in(host: Host) -> Generator[httpx2.Client]:
    """Give a browser that used a login link."""
    origin = host.url("").removesuffix("/api/v1")
    code = host.post("/login-links", {}).json()["url"].rpartition("code=")[2]
    with httpx2.Client(base_url=origin, headers={"origin": origin}, timeout=60, trust_env=False) as browser:
        assert browser.post("/sign-in", data={"code": code}).status_code == 303
        yield browser


@pytest.mark.clause("MASK-1", "JRN-4", "SEC-2", "OPS-6")
@pytest.mark.timeout(300)
def test_a_planted_secret_is_found_nowhere_in_an_installed_host_and_can_still_be_used(
    host: Host, model: ScriptedModel
) -> None:
    """Journal, logs, panel, API, live events, requests to the model, commands, export; also after a restart."""
    follower = Follower(host)
    follower.start()
    said: dict[str, bytes] = {}
    turn = ""
    for name in ("hello", "files", "commands", "server"):
        done = host.run("ask", "main", f"{name} my key is {VALUE} or {ENCODED}")
        said[f"elis ask {name}"] = (done.stdout + done.stderr).encode()
        _, answer = host.ask("main", name)
        said[f"elis ask --json {name}"] = json.dumps(answer, ensure_ascii=False).encode()
        turn = answer["turn"]
    answered(host)
    said |= commands(host, turn) | pages(host)
    assert host.down() == 0
    follower.join(60)
    said["live events"] = follower.heard
    host.up()
    _, later = host.ask("main", "later")
    (ran,) = [
        event["data"] for event in host.get(f"/groups/main/turns/{later['turn']}") if event["kind"] == "call_finished"
    ]
    assert hashlib.sha256(VALUE.encode()).hexdigest() in ran["result"]
    said |= {f"request {number} to the model": each.body for number, each in enumerate(model.requests)}
    own = ("elis.toml", "groups/main/charter.md", "groups/main/workspace/config.ini", "groups/main/workspace/b.txt")
    said |= {f"the home: {place}": data for place, data in kept(host.home) if not place.startswith(own)}
    rays = {f"Ray's folder: {place}": data for place, data in kept(RayFolder(host.home).path)}
    assert rays
    said |= rays
    assert len(follower.heard) > 10_000
    assert len(said) > 60
    assert sorted({f"{place}, {form}" for place, data in said.items() for form in told(data, VALUE)}) == []


@pytest.mark.clause("SEC-1", "OPS-2")
@pytest.mark.parametrize(
    "wrong",
    [
        f"""
        [models.main]
        provider = "openai"
        base_url = "https://u:{VALUE}@example.org/v1"
        model = "m"
        api_key = "{VALUE}"
        [secrets.api]
        ref = "{VALUE}"
        value = "{VALUE}"
        tools = ["{VALUE}"]
        [mcp.odd]
        groups = ["main"]
        command = ["x", "--api-key={VALUE}"]
        env = {{ API_TOKEN = "{VALUE}" }}
        [mcp.far]
        groups = ["main"]
        url = "https://mcp.example.org/?token={VALUE}"
        [groups.main]
        """,
        f'api_key = "{VALUE}\n',
    ],
    ids=["values", "syntax"],
)
def test_a_raw_value_in_the_settings_is_refused_without_being_repeated(tmp_path: Path, wrong: str) -> None:
    """By the host at start, by doctor, and in the log."""
    host = Host(tmp_path / "elis", wrong)
    said: dict[str, bytes] = {}
    for words in (("up",), ("doctor",)):
        done = host.run(*words)
        said[" ".join(words)] = (done.stdout + done.stderr).encode()
        assert done.returncode != 0, done.stdout
    said |= {place: data for place, data in kept(host.home) if place != "elis.toml"}
    assert sorted({f"{place}, {form}" for place, data in said.items() for form in told(data, VALUE)}) == []
