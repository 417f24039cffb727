"""The tool `install_package` as people see it: listed, asked about, kept apart from the system (PATH-3, BOX-6)."""

import asyncio
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from host.config.settings import GroupSettings, PolicySettings, SandboxSettings
from host.groups.port import EventView
from host.passport import Decision
from host.tools.egress import Outside
from tests.integration.browser.world import ADDRESS, Site, World, answer, certified
from tests.integration.groups.package_index import FILES, INDEX, PackageIndex, source, wheel
from tests.integration.groups.stage import BOUND, Stage
from tests.scripted_model import Call, Reply


class Shop(NamedTuple):
    """A group in a small world with a package index."""

    stage: Stage
    world: World
    shelf: PackageIndex

    def settle(self, *packages: str, **policy: Any) -> None:
        """List packages; programs run without a question."""
        choices = {"execute": Decision.ALLOW}
        sandbox = SandboxSettings(packages=packages)
        self.stage.settings = GroupSettings(policy=PolicySettings(choices=choices, **policy), sandbox=sandbox)

    async def calls(self, *calls: Call) -> list[dict[str, Any]]:
        """Let the model make these calls one after the other, and return how each ended."""
        self.stage.model.script(*(Reply(calls=[call]) for call in calls), Reply(text="done"))
        return await self.results(await self.stage.ask())

    async def results(self, ended: EventView) -> list[dict[str, Any]]:
        """Return the finished and refused calls of a turn."""
        kinds = {"call_finished", "call_refused"}
        return [event.data for event in await self.stage.group.turn_events(ended.turn) if event.kind in kinds]


def install(package: str) -> Call:
    """Ask for a package."""
    return Call("install_package", {"package": package})


def run(command: str) -> Call:
    """Run a command."""
    return Call("shell", {"command": command})


@contextmanager
def opened(stage: Stage, tmp_path: Path) -> Generator[Shop]:
    """Give a group that may install `fruit`, and an index that has it."""
    server, trust, _ = certified(tmp_path, "*.example.org", "*.example.net")
    with World() as world:
        site = Site()
        world.serve(443, site.handle, server)
        world.names |= {"index.example.org": [ADDRESS], "files.example.net": [ADDRESS]}
        variables = {"PIP_INDEX_URL": INDEX, "PIP_CONFIG_FILE": os.devnull, "PATH": os.environ["PATH"]}
        stage.outside = Outside(network=world.network(), trust=lambda: trust, variables=lambda: variables)
        site.answers["/simple/nothing/"] = answer(b"", "404 Not Found")
        shop = Shop(stage, world, PackageIndex(site))
        shop.settle("Fruit")
        yield shop
        stage.close()


@pytest.fixture
def shop(stage: Stage, tmp_path: Path) -> Iterator[Shop]:
    """A group that may install `fruit`, and an index that has it."""
    with opened(stage, tmp_path) as made:
        yield made


@pytest.mark.clause("PATH-3", "PASS-3")
async def test_a_listed_package_and_what_it_needs_are_there_for_python3_and_the_journal_has_their_hashes(
    shop: Shop,
) -> None:
    """Dependencies come along unlisted; a program of it is on PATH; the files lie on a host that the index named."""
    program = "import seed\n\ndef main():\n    print('grown from', seed.KIND)\n"
    fruit = shop.shelf.release("fruit", "1.2", program, needs=("seed>=1",), script="grow")
    seed = shop.shelf.release("seed", "1.0", "KIND = 'apple'\n")
    installed, ran = await shop.calls(install("fruit"), run("python3 -c 'import fruit; fruit.main()' && grow"))
    assert installed["effect"] == "execute"
    own, begins, *lines, _ = installed["result"].splitlines()
    assert own == "fruit is installed; python3 in shell finds it."
    assert "from the package index" in begins
    assert lines == [f"fruit 1.2 sha256:{fruit}", f"seed 1.0 sha256:{seed}"]
    assert ran["result"] == "exit code 0\ngrown from apple\ngrown from apple"
    assert {host for host, _ in shop.world.dialled} == {ADDRESS}
    assert set(shop.world.lookups) == {"index.example.org", "files.example.net"}
    assert not list(Path("/usr/lib/python3").rglob("fruit.py"))


@pytest.mark.clause("PATH-3", "BOX-6")
async def test_a_package_beside_the_list_is_a_question_that_points_out_a_look_alike(shop: Shop) -> None:
    """Even where programs run without one; a refusal reaches nothing, a yes admits the name for that call."""
    shop.settle("fruit", "requests")
    shop.shelf.release("reqeusts", "9.9", "BAD = True\n")
    shop.stage.model.script(
        Reply(calls=[install("Reqeusts")]), Reply(calls=[install("reqeusts==9.9")]), Reply(calls=[install("nothing")]),
        Reply(text="done"),
    )  # fmt: skip
    placement = await shop.stage.say()
    question = await shop.stage.question()
    assert "reqeusts is not listed in the group's sandbox.packages" in question.what_may_happen
    assert "much like requests" in question.what_may_happen
    assert "kind" not in question.scopes
    await shop.stage.group.settle(question.id, verdict="denied", by="operator", text="a squatter")
    asked = await shop.stage.until(lambda event: event.kind == "approval_asked")
    assert [part["exact"] for part in asked.data["parts"]] == ["execute:package:reqeusts"]
    other = await shop.stage.until(
        lambda event: event.kind == "approval_asked" and event.data["approval"] != question.id
    )
    assert other.data["arguments"] == {"package": "nothing"}
    await shop.stage.group.settle(other.data["approval"], verdict="allowed", by="operator", text="")
    refused, again, missing = await shop.results(await shop.stage.ended(placement))
    assert "a squatter" in refused["result"]
    assert "asked about before in this turn" in again["result"]
    assert "has no package nothing" in missing["result"]
    assert [seen.line for seen in shop.shelf.site.seen] == ["GET /simple/nothing/ HTTP/1.1"]


@pytest.mark.clause("BOX-6")
async def test_an_unlisted_package_parks_a_turn_that_nobody_watches(shop: Shop) -> None:
    """It is no end; the answer lets the call go on."""
    shop.shelf.release("pear", "1.0", "KIND = 'pear'\n")
    shop.stage.model.script(Reply(calls=[install("pear")]), Reply(text="done"))
    placement = await shop.stage.say(unattended=True)
    await shop.stage.until(lambda event: event.kind == "turn_parked")
    (question,) = await shop.stage.group.approvals()
    await shop.stage.group.settle(question.id, verdict="allowed", by="operator", text="")
    ended = await shop.stage.ended(placement)
    assert ended.data["outcome"] == "success"


@pytest.mark.clause("PATH-3")
@pytest.mark.parametrize(
    "package",
    ["./fruit", "/workspace/fruit.whl", "https://files.example.net/fruit.whl", "git+https://files.example.net/x",
     "fruit @ https://files.example.net/fruit.whl", "-r wishes.txt", "--index-url=https://files.example.net", "a b"],
)  # fmt: skip
async def test_what_is_no_package_name_is_refused_without_a_question(shop: Shop, package: str) -> None:
    """Paths, addresses, repositories and options of an installer get nowhere."""
    (refused,) = await shop.calls(install(package))
    assert (refused["stage"], refused["rule"]) == ("registry", "package")
    assert shop.shelf.site.seen == []


@pytest.mark.clause("PATH-3")
async def test_a_source_distribution_is_not_installed_and_its_code_does_not_run(shop: Shop) -> None:
    """Nothing of a package runs while it is installed; what was there stays as it was."""
    shop.shelf.release("fruit", "1.0", "KIND = 'old'\n")
    setup = "open('/workspace/ran', 'w').close()\nraise SystemExit('I ran')\n"
    (first,) = await shop.calls(install("fruit"))
    shop.shelf.put("fruit", "fruit-2.0.tar.gz", source("fruit", "2.0", setup))
    failed, ran = await shop.calls(install("fruit==2.0"), run("python3 -c 'import fruit; print(fruit.KIND)'"))
    assert first["ok"]
    assert failed["reason"] == "tool_failed"
    assert "I ran" not in failed["result"]
    assert "nothing was installed" in failed["result"]
    assert ran["result"] == "exit code 0\nold"
    assert not list(shop.stage.workspace.rglob("ran"))


@pytest.mark.clause("PATH-3")
async def test_the_list_narrows_versions_and_what_was_asked_for_earlier_keeps_its_own(shop: Shop) -> None:
    """`fruit<2` holds for every call; a newer release does not move it when something else is installed."""
    shop.settle("fruit<2", "nut")
    for version in ("1.0", "2.0"):
        shop.shelf.release("fruit", version, f"KIND = '{version}'\n")
    shop.shelf.release("nut", "5", "KIND = 'nut'\n")
    (first,) = await shop.calls(install("fruit"))
    shop.shelf.release("fruit", "1.5", "KIND = '1.5'\n")
    (second, outside) = await shop.calls(install("nut"), install("fruit==2.0"))
    assert "\nfruit 1.0 sha256" in first["result"]
    assert "\n1 more are as they were.\n" in second["result"]
    assert not outside["ok"]
    (third,) = await shop.calls(install("fruit>1"))
    assert "\nfruit 1.5 sha256" in third["result"]


@pytest.mark.clause("PATH-3", "STOP-1")
async def test_an_interrupted_installation_leaves_the_set_that_was_there(shop: Shop) -> None:
    """Stop while a file is on its way; no stage stays behind at the next one, and no process."""
    shop.shelf.release("fruit", "1.0", "KIND = 'old'\n")
    await shop.calls(install("fruit"))
    shop.shelf.release("fruit", "2.0", "KIND = 'new'\n")
    file = "/fruit-2.0-py3-none-any.whl"
    shop.shelf.site.stalls.add(file)
    shop.stage.model.script(Reply(calls=[install("fruit")]))
    placement = await shop.stage.say()
    async with asyncio.timeout(BOUND):
        while f"GET {file} HTTP/1.1" not in [seen.line for seen in shop.shelf.site.seen]:
            await asyncio.sleep(0.01)
    await shop.stage.group.stop("chat", all_lanes=False, by="operator")
    ended = await shop.stage.ended(placement)
    assert ended.data["reason"] == "interrupted"
    (ran,) = await shop.calls(run("python3 -c 'import fruit; print(fruit.KIND)'"))
    assert ran["result"] == "exit code 0\nold"
    assert not list((shop.stage.workspace / ".elis" / "package-sets").glob("stage-*"))


@pytest.mark.clause("PATH-3")
async def test_nothing_but_the_installer_can_put_anything_among_the_packages(shop: Shop) -> None:
    """Else a file written there would run under the name of a harmless command that the machine lacks."""
    shop.shelf.release("fruit", "1.0", "KIND = 'old'\n", script="ls")
    _, wrote, ran, listed = await shop.calls(
        install("fruit"),
        Call("write_file", {"path": ".elis/packages/bin/rg", "content": "#!/bin/sh\n"}),
        run("echo x > .elis/packages/fruit.py || mv .elis elsewhere || echo refused"),
        run("command -v ls"),
    )
    assert wrote["reason"] == "path_violation"
    assert ran["result"].endswith("refused")
    assert listed["result"].splitlines()[1] in {"/bin/ls", "/usr/bin/ls"}


@pytest.mark.clause("PATH-3", "BOX-2")
@pytest.mark.parametrize(
    ("url", "said"),
    [("http://index.example.org/simple/", "https only"), ("https://127.0.0.1/simple/", "never reached"),
     ("https://mirror.internal/simple/", "never reached"), ("https://me:word@index.example.org/simple/", "password")],
)  # fmt: skip
async def test_an_index_that_may_not_be_reached_is_named_with_the_way_to_set_another(
    shop: Shop, url: str, said: str
) -> None:
    """The machine's own settings for pip say which index; the walls of the way out hold for it too."""
    variables = {"PIP_INDEX_URL": url, "PIP_CONFIG_FILE": os.devnull, "PATH": os.environ["PATH"]}
    assert shop.stage.outside is not None
    shop.stage.outside = msgspec.structs.replace(shop.stage.outside, variables=lambda: variables)
    (failed,) = await shop.calls(install("fruit"))
    assert failed["reason"] == "unsupported"
    assert said in failed["result"]
    assert "PIP_INDEX_URL" in failed["result"]
    assert "word" not in failed["result"].replace("password", "")
    assert shop.world.dialled == []


@pytest.mark.clause("PATH-3", "BOX-2")
async def test_an_address_that_a_package_names_opens_no_way_to_it(shop: Shop) -> None:
    """Only the index says where its files lie, here by a page of HTML; what fails changes nothing."""
    shop.world.names["evil.example.com"] = [ADDRESS]
    data = wheel("fruit", "1.0", "KIND = 'bad'\n", needs=("seed @ https://evil.example.com/seed-1.0-py3-none-any.whl",))
    shop.shelf.put("fruit", "fruit-1.0-py3-none-any.whl", data)
    page = f'<!DOCTYPE html><a href="{FILES}/fruit-1.0-py3-none-any.whl">fruit-1.0-py3-none-any.whl</a>'
    shop.shelf.site.answers["/simple/fruit/"] = answer(page.encode(), content_type="text/html")
    failed, ran = await shop.calls(install("fruit"), run("python3 -c 'import fruit'"))
    assert failed["reason"] == "tool_failed"
    assert ran["reason"] == "tool_failed"
    assert set(shop.world.lookups) == {"index.example.org", "files.example.net"}
