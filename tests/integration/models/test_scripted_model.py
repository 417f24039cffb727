"""The scripted model itself: what a test says is what a client gets, also from a script file."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.scripted_model import Call, Fail, Reply, ScriptedModel, echo

BOUND_SECONDS = 20


@pytest.fixture
def client() -> Iterator[httpx2.Client]:
    """A plain client."""
    with httpx2.Client(trust_env=False, timeout=BOUND_SECONDS) as plain:
        yield plain


def ask(client: httpx2.Client, base_url: str, text: str, path: str = "/chat/completions") -> httpx2.Response:
    """Ask without streaming."""
    request = {"model": "scripted", "max_tokens": 5, "messages": [{"role": "user", "content": text}]}
    return client.post(base_url + path, json=request)


def said(response: httpx2.Response) -> str:
    """Return the text of a chat completion."""
    return str(response.json()["choices"][0]["message"]["content"])


def test_replies_that_are_not_streamed_are_whole_in_both_formats(client: httpx2.Client, server: ScriptedModel) -> None:
    """Text, calls and usage."""
    server.script(Reply("hi", [Call("shell", {"command": "ls"})], usage=(9, 4, 3)), loop=True)
    chat = ask(client, server.base_url, "x").json()
    call = chat["choices"][0]["message"]["tool_calls"][0]["function"]
    assert (said(ask(client, server.base_url, "x")), call) == ("hi", {"name": "shell", "arguments": '{"command":"ls"}'})
    assert chat["usage"]["prompt_tokens"] == 9
    message = ask(client, server.base_url, "x", "/messages").json()
    assert [block["type"] for block in message["content"]] == ["text", "tool_use"]
    assert message["usage"] == {
        "input_tokens": 6,
        "output_tokens": 4,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 0,
    }


def test_rules_come_before_the_queue_and_a_function_before_both(client: httpx2.Client, server: ScriptedModel) -> None:
    """A test can script the judge apart from the model that is judged."""
    server.script(Reply("first"), Fail(503))
    server.when(lambda request: request["messages"][-1]["content"] == "judge", Reply("yes"))
    assert said(ask(client, server.base_url, "judge")) == "yes"
    assert said(ask(client, server.base_url, "x")) == "first"
    server.respond(lambda _request, index: Reply(f"request {index}"))
    assert said(ask(client, server.base_url, "judge")) == "request 2"
    server.respond(None)
    assert ask(client, server.base_url, "x").status_code == 503
    exhausted = ask(client, server.base_url, "x")
    assert (exhausted.status_code, "no step left" in exhausted.text) == (400, True)
    server.script(echo)
    assert said(ask(client, server.base_url, "said back")) == "said back"


def test_a_script_that_fails_is_told_to_its_client(client: httpx2.Client, server: ScriptedModel) -> None:
    """A mistake in a test does not look like a broken network."""

    def wrong(request: dict[str, Any], _index: int) -> Reply:
        return Reply(request["no such key"])

    server.respond(wrong)
    assert "no such key" in ask(client, server.base_url, "x").text


def test_a_wait_for_requests_ends_when_they_come(client: httpx2.Client, server: ScriptedModel) -> None:
    """And in bounded time when they do not."""
    server.script(Reply("fine"))
    asking = threading.Thread(target=ask, args=(client, server.base_url, "x"))
    asking.start()
    assert server.wait_requests(1)[0].json["messages"][0]["content"] == "x"
    asking.join(BOUND_SECONDS)
    with pytest.raises(TimeoutError, match="1 of 2"):
        server.wait_requests(2, timeout=0.01)


def test_a_script_file_is_followed_in_a_process_of_its_own(client: httpx2.Client, tmp_path: Path) -> None:
    """Rules, steps, gates that are files, what comes after the last step, and the log."""
    gate, log, script = tmp_path / "go", tmp_path / "log.jsonl", tmp_path / "script.json"
    steps = [{"text": "held back", "pause": str(gate)}, {"fail": {"status": 429, "headers": {"retry-after": "2"}}}]
    rules = [{"last": "judge", "steps": [{"text": "yes"}]}, {"model": "other", "steps": "echo"}]
    script.write_text(json.dumps({"models": ["one"], "rules": rules, "steps": steps, "respond": "echo"}))
    command = [sys.executable, "-m", "tests.scripted_model", "--script", str(script), "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        answers: list[str] = []
        asking = threading.Thread(target=lambda: answers.append(said(ask(client, base_url, "x"))))
        asking.start()
        assert said(ask(client, base_url, "please judge this")) == "yes"
        assert answers == []
        gate.touch()
        asking.join(BOUND_SECONDS)
        assert answers == ["held back"]
        assert ask(client, base_url, "x").headers["retry-after"] == "2"
        assert said(ask(client, base_url, "at last")) == "at last"
        assert client.get(f"{base_url}/models").json()["data"][0]["id"] == "one"
        process.terminate()
        assert process.wait(BOUND_SECONDS) == 0
    logged = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["path"] for line in logged] == ["/v1/chat/completions"] * 4


@pytest.mark.parametrize("step", [{"txt": "x"}, {"calls": [{"name": "x"}]}, {"fail": {"status": "no"}}])
def test_a_script_file_with_a_mistake_is_refused(step: dict[str, Any], tmp_path: Path) -> None:
    """A misspelt key does not become an empty reply."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"steps": [step]}))
    command = [sys.executable, "-m", "tests.scripted_model", "--script", str(script)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False)
    assert run.returncode != 0
    assert "ValidationError" in run.stderr
