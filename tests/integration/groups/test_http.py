"""The tool `http` and the shell's door as people see them: asked, answered, journaled (PASS-3, PASS-4, BOX-2)."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from host.config.settings import SecretSettings
from host.passport import Decision
from tests.integration.browser.world import ADDRESS, answer
from tests.integration.groups.outside import LISTED, UNLISTED, Out, outside
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply


@pytest.fixture
def out(stage: Stage, tmp_path: Path) -> Iterator[Out]:
    """A group that may reach example.org in a world that has other.example.com too."""
    with outside(stage, tmp_path) as made:
        yield made


@pytest.mark.clause("PASS-3", "PASS-4", "BOX-2")
async def test_a_listed_host_is_read_without_a_question_and_written_down(out: Out) -> None:
    """GET is of class read; the connection stands in the journal before the call's end, with turn and call."""
    out.site.answers["/"] = answer(b'{"hello": "w\xc3\xb6rld"}', content_type="application/json", set_cookie="s=secret")
    ended = await out.ask(Call("http", {"url": LISTED}))
    assert ended.data["outcome"] == "success"
    result = await out.result(ended.turn)
    assert result["effect"] == "read"
    told = "HTTP 200 OK\n[1 header of the answer left out]\n⟦elis:external ID from http api.example.org⟧\n"
    told += 'content-type: application/json\ncontent-length: 19\n\n{"hello": "wörld"}\n⟦elis:external ID ends⟧'
    assert re.sub("external [0-9a-f]{16}", "external ID", result["result"]) == told
    (connection,) = await out.connections(ended.turn)
    call = result["call"]
    assert (connection["caller"], connection["host"]) == (f"{ended.turn}:{call}", "api.example.org")
    assert (connection["verdict"], connection["address"], connection["port"]) == ("carried", ADDRESS, 443)
    kinds = await out.stage.kinds(ended.turn)
    assert kinds.index("egress_connection") < kinds.index("call_finished")
    assert kinds[-1] == "turn_ended"


@pytest.mark.clause("PASS-4", "REC-6")
async def test_sending_is_asked_about_and_carries_its_idempotency_key(out: Out) -> None:
    """Everything but GET and HEAD is of class send; a server can tell a repeated request by turn and call."""
    sent = Call(
        "http", {"url": f"{LISTED}things", "method": "POST", "json": {"a": [1, "ü"]}, "headers": {"X-Own": "y"}}
    )
    out.stage.model.script(Reply(calls=[sent]), Reply(text="done"))
    placement = await out.stage.say()
    question = await out.stage.question()
    assert (question.tool, question.effect) == ("http", "send")
    await out.stage.group.settle(question.id, verdict="allowed", by="operator", text="")
    ended = await out.stage.ended(placement)
    assert ended.data["outcome"] == "success"
    (seen,) = out.site.seen
    assert seen.line == "POST /things HTTP/1.1"
    assert json.loads(seen.body) == {"a": [1, "ü"]}
    assert seen.headers["idempotency-key"] == f"{ended.turn}:{(await out.result(ended.turn))['call']}"
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["x-own"] == "y"


@pytest.mark.clause("BOX-6")
async def test_an_unlisted_host_is_a_question_that_names_host_and_setting_and_yes_admits_it_once(out: Out) -> None:
    """Even where reading is allowed; the next call to it is asked about again, and no name is looked up before."""
    out.settle({"read": Decision.ALLOW})
    out.stage.model.script(
        Reply(calls=[Call("http", {"url": UNLISTED})]),
        Reply(calls=[Call("http", {"url": f"{UNLISTED}2"})]),
        Reply("done"),
    )
    placement = await out.stage.say()
    question = await out.stage.question()
    assert "other.example.com is not listed in [groups.main.sandbox] network" in question.what_may_happen
    assert out.world.lookups == []
    await out.stage.group.settle(question.id, verdict="allowed", by="operator", text="")
    second = await out.stage.until(
        lambda event: event.kind == "approval_asked" and event.data["approval"] != question.id
    )
    assert second.data["arguments"]["url"] == f"{UNLISTED}2"
    assert [seen.headers["host"] for seen in out.site.seen] == ["other.example.com"]
    await out.stage.group.settle(second.data["approval"], verdict="denied", by="operator", text="enough")
    ended = await out.stage.ended(placement)
    assert "enough" in (await out.result(ended.turn, 1))["result"]
    assert len(out.site.seen) == 1
    assert out.world.lookups == ["other.example.com"]


@pytest.mark.clause("BOX-6")
async def test_an_unlisted_host_parks_a_turn_that_nobody_watches(out: Out) -> None:
    """It is no end, and is never taken as consent."""
    out.stage.model.script(Reply(calls=[Call("http", {"url": UNLISTED})]), Reply(text="done"))
    placement = await out.stage.say(unattended=True)
    await out.stage.until(lambda event: event.kind == "turn_parked")
    (question,) = await out.stage.group.approvals()
    assert out.site.seen == []
    await out.stage.group.settle(question.id, verdict="allowed", by="operator", text="")
    assert (await out.stage.ended(placement)).data["outcome"] == "success"
    assert len(out.site.seen) == 1


@pytest.mark.clause("BOX-6")
@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("https://127.0.0.1/", "ip-literal"),
        ("https://2130706433/", "ip-literal"),
        ("https://[::1]/", "ip-literal"),
        ("https://localhost/", "internal-name"),
        ("https://printer/", "internal-name"),
        ("https://metadata.google.internal/", "internal-name"),
        ("http://other.example.com/", "plain-http"),
        ("https://user@api.example.org/", "destination"),
        ("https://api.example.org\\@evil.example/", "destination"),
        ("https://api%2eexample.org/", "destination"),
        ("https://аpi.example.org/", "destination"),
        ("ftp://api.example.org/", "destination"),
        ("//api.example.org/", "destination"),
    ],
)
async def test_what_is_never_on_offer_is_refused_without_a_question(out: Out, url: str, rule: str) -> None:
    """Numbers, internal names, plain HTTP, and what two readers could read differently; also under "let it run"."""
    out.settle({"read": Decision.ALLOW, "http": Decision.ALLOW}, everything="allow")
    ended = await out.ask(Call("http", {"url": url}))
    assert ended.data["outcome"] == "failed"
    refused = await out.result(ended.turn)
    assert refused["rule"] == rule
    assert "approval_asked" not in await out.stage.kinds(ended.turn)
    assert out.world.lookups == []


async def test_let_it_run_covers_an_unlisted_host(out: Out) -> None:
    """Every ask but the floor's becomes allow; the connection is written down all the same."""
    out.settle(everything="allow")
    ended = await out.ask(Call("http", {"url": UNLISTED}))
    assert ended.data["outcome"] == "success"
    assert [each["host"] for each in await out.connections(ended.turn)] == ["other.example.com"]


async def test_a_failure_of_the_server_is_a_failed_call_with_its_status(out: Out) -> None:
    """And what the server says about it reaches the model."""
    out.site.answers["/"] = answer(b"no such thing", "404 Not Found")
    ended = await out.ask(Call("http", {"url": LISTED}))
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "tool_failed")
    result = await out.result(ended.turn)
    assert result["detail"] == "status 404 from api.example.org"
    assert "\n\nno such thing\n⟦elis:external" in result["result"]


async def test_a_long_body_is_kept_whole_in_a_file_and_a_binary_one_too(out: Out) -> None:
    """The answer names the file, and for text the call that reads on."""
    long = "\n".join(f"line {number} äöü" for number in range(9000)).encode()
    out.site.answers |= {
        "/data/long.txt": answer(long),
        "/logo": answer(bytes(range(256)), content_type="image/png"),
    }
    ended = await out.ask(Call("http", {"url": f"{LISTED}data/long.txt"}), Call("http", {"url": f"{LISTED}logo"}))
    results = {
        (await out.result(ended.turn, number))["call"]: await out.result(ended.turn, number) for number in (0, 1)
    }
    first, second = (results[call]["result"] for call in sorted(results))
    assert len(first) < 60_000
    assert first.startswith("HTTP 200 OK\n")
    assert f"9000 lines, {len(long)} bytes, more than one answer holds. All of it is in downloads/" in first
    assert "Read on: read_file" in first.rpartition("ends⟧")[2]
    assert "its 256 bytes are in downloads/" in second
    kept = {path.name.split("-", 2)[2]: path.read_bytes() for path in (out.stage.workspace / "downloads").iterdir()}
    assert kept == {"long.txt": long, "logo.png": bytes(range(256))}


async def test_reads_of_one_step_run_side_by_side_and_sends_do_not(out: Out) -> None:
    """Two reads are both started before either ends; a send among them makes the step run in order (PASS-2)."""
    out.settle({"send": Decision.ALLOW})
    ended = await out.ask(Call("http", {"url": LISTED}), Call("http", {"url": f"{LISTED}2"}))
    side = [kind for kind in await out.stage.kinds(ended.turn) if kind in {"call_started", "call_finished"}]
    assert side[:2] == ["call_started", "call_started"]
    ended = await out.ask(Call("http", {"url": LISTED}), Call("http", {"url": f"{LISTED}3", "method": "POST"}))
    order = [kind for kind in await out.stage.kinds(ended.turn) if kind in {"call_started", "call_finished"}]
    assert order == ["call_started", "call_finished"] * 2


async def test_a_redirect_is_followed_to_listed_hosts_only_and_takes_no_header_to_another_host(out: Out) -> None:
    """What may hold a secret stays with the host that it was for; an unlisted host is named and not asked."""
    out.site.answers |= {
        "/": answer(b"", "302 Found", location="https://www.example.org/two"),
        "/two": answer(b"", "301 Moved", location="/three"),
        "/three": answer(b"", "307 Temporary", location=f"{UNLISTED}four"),
    }
    ended = await out.ask(Call("http", {"url": LISTED, "headers": {"Authorization": "Bearer x", "Accept": "text/x"}}))
    result = (await out.result(ended.turn))["result"]
    own, words = result.split("⟦", 1)
    assert own.splitlines()[1:] == [
        "followed a redirect (302)",
        "the headers of the call were not sent there: they are for the host that it named",
        "followed a redirect (301)",
        "the redirect was not followed: the host of its location is not listed in [groups.main.sandbox] network; call "
        "http with it to ask",
    ]
    assert "redirected to https://www.example.org/two\nredirected to https://www.example.org/three\n" in words
    assert "location: https://other.example.com/four" in words
    assert [seen.headers["host"] for seen in out.site.seen] == ["api.example.org", *["www.example.org"] * 2]
    assert [seen.headers.get("authorization") for seen in out.site.seen] == ["Bearer x", None, None]
    assert [seen.headers["accept"] for seen in out.site.seen] == ["text/x", "*/*", "*/*"]


@pytest.mark.parametrize(
    "location",
    ["http://api.example.org/plain", "https://127.0.0.1/", "https://user@www.example.org/", "https://localhost/"],
)
async def test_a_redirect_to_what_is_never_on_offer_is_not_followed(out: Out, location: str) -> None:
    """Nor one from https to plain http."""
    out.site.answers["/"] = answer(b"", "302 Found", location=location)
    ended = await out.ask(Call("http", {"url": LISTED}))
    assert "the redirect was not followed" in (await out.result(ended.turn))["result"]
    assert len(out.site.seen) == 1


@pytest.mark.clause("SEC-2")
async def test_a_secret_bound_to_a_host_goes_there_and_nowhere_else(out: Out) -> None:
    """The server gets the value, the model the handle; towards another host, or as a part of one, it is not lent."""
    secret = out.stage.root / "value"
    secret.write_text("tok-5f8a9b1c2d3e4f60")
    secret.chmod(0o600)
    out.stage.secrets = {
        "api": SecretSettings(ref=f"file:{secret}", tools=("http",), hosts=("api.example.org",)),
        "part": SecretSettings(ref=f"file:{secret}", tools=("http",)),
    }
    headers = {"Authorization": "Bearer «secret:api»"}
    out.site.answers["/"] = answer(b"you said tok-5f8a9b1c2d3e4f60")
    ended = await out.ask(
        Call("http", {"url": LISTED, "headers": headers}),
        Call("http", {"url": "https://www.example.org/", "headers": headers}),
        Call("http", {"url": "https://«secret:part».example.org/"}),
    )
    results = [await out.result(ended.turn, number) for number in range(3)]
    found = {result["call"]: result for result in results}
    good, elsewhere, part = (found[call] for call in sorted(found))
    assert "you said «secret:api»" in good["result"] or "you said «secret:part»" in good["result"]
    assert elsewhere["reason"] == "policy_violation"
    assert part["reason"] == "protocol_violation"
    (seen,) = out.site.seen
    assert seen.headers["authorization"] == "Bearer tok-5f8a9b1c2d3e4f60"


@pytest.mark.clause("SEC-2", "MASK-1")
async def test_a_secret_in_an_address_is_not_in_the_name_of_the_file_that_keeps_the_answer(out: Out) -> None:
    """That file can be read on by the name that the model was told."""
    secret = out.stage.root / "value"
    secret.write_text("tok-5f8a9b1c2d3e4f60")
    secret.chmod(0o600)
    out.stage.secrets = {"api": SecretSettings(ref=f"file:{secret}", tools=("http",))}
    long = "\n".join(f"line {number}" for number in range(9000)).encode()
    out.site.answers["/tok-5f8a9b1c2d3e4f60"] = answer(long)
    ended = await out.ask(Call("http", {"url": f"{LISTED}«secret:api»"}))
    told = (await out.result(ended.turn))["result"]
    (kept,) = (out.stage.workspace / "downloads").iterdir()
    assert "tok-5f8a" not in kept.name
    assert f"downloads/{kept.name}" in told
    assert kept.read_bytes() == long


@pytest.mark.parametrize(
    "arguments",
    [
        {"headers": {"Host": "evil.example"}},
        {"headers": {"Proxy-Authorization": "x"}},
        {"headers": {"Connection": "upgrade"}},
        {"headers": {"Content-Length": "0"}},
        {"headers": {"Transfer-Encoding": "chunked"}},
        {"headers": {"Idempotency-Key": "mine"}},
        {"headers": {"X": "a\r\nHost: evil.example"}},
        {"headers": {"X Y": "a"}},
        {"body": "x"},
        {"method": "POST", "body": "x", "json": 1},
    ],
)
async def test_a_request_that_would_be_another_one_is_not_sent(out: Out, arguments: dict[str, Any]) -> None:
    """Headers that the host writes, line breaks in them, a body where none belongs."""
    out.settle({"send": Decision.ALLOW})
    ended = await out.ask(Call("http", {"url": LISTED, **arguments}))
    assert (await out.result(ended.turn))["reason"] == "protocol_violation"
    assert out.site.seen == []


@pytest.mark.parametrize("scheme", ["https", "http"])
async def test_a_name_that_leads_inside_fails_the_call_with_the_reason(out: Out, scheme: str) -> None:
    """A listed name, and a private address behind it; over plain http the proxy's own word is known by its mark."""
    out.world.names["api.example.org"] = ["10.0.0.7"]
    ended = await out.ask(Call("http", {"url": LISTED.replace("https", scheme)}))
    assert (await out.result(ended.turn))["result"] == (
        "the connection was not carried: api.example.org leads to 10.0.0.7, which is no public address"
    )
    (connection,) = await out.connections(ended.turn)
    assert (connection["verdict"], connection["rule"]) == ("refused", "address_not_public")


async def test_a_server_that_says_nothing_is_a_time_out(out: Out) -> None:
    """Bounded by the call's own seconds."""
    out.site.hang = True
    ended = await out.ask(Call("http", {"url": LISTED, "timeout_seconds": 0.3}))
    assert (await out.result(ended.turn))["reason"] == "timed_out"


@pytest.mark.clause("STOP-1")
async def test_a_stop_ends_the_request_and_nothing_of_the_turn_comes_after_its_end(out: Out) -> None:
    """The connection is closed and written down before the final event."""
    out.site.hang = True
    out.stage.model.script(Reply(calls=[Call("http", {"url": LISTED})]), Reply(text="never"))
    placement = await out.stage.say()
    await out.stage.until(lambda event: event.kind == "call_started")
    await out.stage.group.stop("", all_lanes=False, by="operator")
    ended = await out.stage.ended(placement)
    assert ended.data["reason"] == "interrupted"
    assert (await out.stage.kinds(ended.turn))[-1] == "turn_ended"


@pytest.mark.clause("BOX-2")
async def test_a_shell_command_reaches_the_list_and_its_refusals_reach_the_model(out: Out) -> None:
    """Both connections stand in the journal with the call they were made for."""
    out.settle(everything="allow")
    command = f"curl -sS --cacert ca.pem {LISTED}; curl -sS {UNLISTED}"
    out.stage.model.script(Reply(calls=[Call("shell", {"command": command})]), Reply(text="done"))
    placement = await out.stage.say()
    turn = placement.turn
    if (await out.stage.until(lambda e: e.kind in {"approval_asked", "turn_ended"})).kind == "approval_asked":
        (question,) = await out.stage.group.approvals()
        await out.stage.group.settle(question.id, verdict="allowed", by="operator", text="")
    await out.stage.ended(placement)
    result = await out.result(turn)
    assert "hello from the world" in result["result"]
    assert "other.example.com is not on the list of hosts (host_not_listed)" in result["result"]
    carried, refused = await out.connections(turn)
    assert (carried["verdict"], refused["verdict"], refused["rule"]) == ("carried", "refused", "host_not_listed")
    assert {carried["caller"], refused["caller"]} == {f"{turn}:{result['call']}"}
