"""The tool `shell`, and the back end `none` behind it."""

import asyncio
import functools
import os
import time
from collections.abc import Iterator

import msgspec
import psutil
import pytest

from host.config.settings import SandboxSettings
from host.errors import PathViolation, ToolFailed, Unsupported
from host.stops import Reason
from host.tools.ask_person import AskPerson, AskPersonArguments
from host.tools.bare import BareSandbox
from host.tools.bwrap import BwrapSandbox
from host.tools.jail import Jail
from host.tools.sandbox import sandbox_from
from host.tools.shell import LONGEST_SECONDS, Shell, ShellArguments
from host.tools.text import ANSWER_BYTES
from host.tools.tool import Scope, ToolResult

from .conftest import Place
from .processes import gone


async def shell(scope: Scope, command: str, cwd: str = ".", seconds: float = 30.0) -> ToolResult:
    """Run the tool."""
    return await Shell().run(ShellArguments(command=command, cwd=cwd, timeout_seconds=seconds), scope)


@pytest.mark.clause("BOX-1")
async def test_a_command_that_succeeds_is_told_with_its_output(scope: Scope) -> None:
    """Code and output; no output is said to be none."""
    result = await shell(scope, "echo hello; echo again >&2")
    assert result == ToolResult(text="exit code 0\nhello\nagain")
    assert (await shell(scope, "true")).text == "exit code 0, no output"


async def test_a_command_that_fails_is_no_success(scope: Scope) -> None:
    """The reason is tool_failed, the detail has the exit code."""
    result = await shell(scope, "echo why; exit 7")
    assert (result.ok, result.reason, result.detail) == (False, Reason.TOOL_FAILED, "exit code 7")
    assert result.text == "exit code 7\nwhy"


async def test_a_command_that_takes_too_long_is_timed_out(scope: Scope) -> None:
    """With what it had said until then, and what to do."""
    result = await shell(scope, "echo begun; sleep 68", seconds=0.5)
    assert (result.ok, result.reason, result.detail) == (False, Reason.TIMED_OUT, "ended after 0.5 s")
    assert "give it more timeout_seconds" in result.text
    assert result.text.endswith("\nbegun")


def test_nobody_may_ask_for_more_time_than_there_is() -> None:
    """The gate's own time-out comes later than any command's."""
    with pytest.raises(msgspec.ValidationError, match="timeout_seconds"):
        msgspec.convert({"command": "true", "timeout_seconds": LONGEST_SECONDS + 1}, ShellArguments)
    with pytest.raises(msgspec.ValidationError, match="command"):
        msgspec.convert({"command": ""}, ShellArguments)
    assert Shell().passport.timeout_seconds > LONGEST_SECONDS


@pytest.mark.clause("PATH-1", "PATH-4")
async def test_a_command_runs_in_the_folder_that_it_names(scope: Scope, place: Place) -> None:
    """Beneath the workspace; a folder that does not exist, or leads out, is refused before anything runs."""
    (place.workspace / "sub").mkdir()
    (place.workspace / "link").symlink_to("sub")
    (place.workspace / "way").symlink_to("/")
    assert (await shell(scope, "pwd", cwd="sub")).text.endswith("\n/workspace/sub")
    assert (await shell(scope, "pwd", cwd="link")).text.endswith("\n/workspace/sub")
    assert (await shell(scope, "pwd", cwd="/workspace/docs")).text.endswith("\n/workspace/docs")
    for cwd in ("way", "..", "/etc"):
        with pytest.raises(PathViolation):
            await shell(scope, "pwd", cwd=cwd)
    with pytest.raises(ToolFailed, match="does not exist"):
        await shell(scope, "pwd", cwd="gone")


@pytest.mark.clause("CTX-3")
async def test_long_output_is_kept_whole_in_a_file_and_told_from_both_ends(scope: Scope, place: Place) -> None:
    """Nothing is cut, and nothing has to be run again."""
    result = await shell(scope, "seq 1 100000")
    assert result.text == "exit code 0"
    assert result.kept is not None
    assert len(result.kept.excerpt.encode()) < ANSWER_BYTES
    assert "First lines:\n1\n2\n" in result.kept.excerpt
    assert result.kept.excerpt.endswith("\n99999\n100000")
    assert "100000 lines, 588895 bytes" in result.kept.where
    kept = (place.workspace / "outputs" / "t1-1.0.txt").read_text()
    assert kept == "".join(f"{number}\n" for number in range(1, 100_001))


@pytest.mark.clause("CTX-3")
async def test_much_output_fills_the_file_and_not_the_memory(scope: Scope, place: Place) -> None:
    """It is written while it comes; the command is no faster than that."""
    before = psutil.Process().memory_info().rss
    result = await shell(scope, f"yes {'x' * 1023} | head -c {40 << 20}", seconds=100)
    assert result.kept is not None
    assert psutil.Process().memory_info().rss - before < 24 << 20
    assert (place.workspace / "outputs" / "t1-1.0.txt").stat().st_size == 40 << 20
    assert [path.name for path in (place.workspace / "outputs").iterdir()] == ["t1-1.0.txt"]


@pytest.mark.clause("CTX-3")
async def test_output_that_cannot_be_kept_is_said_to_be_lost(scope: Scope, place: Place) -> None:
    """A link in the folder's place is not followed."""
    (place.workspace / "outputs").symlink_to(place.top)
    result = await shell(scope, "seq 1 100000")
    assert result.kept is not None
    assert "could not be kept in a file: 'outputs' in the workspace must be a plain folder" in result.kept.where
    assert not list(place.top.glob("t1-*"))


async def test_a_limit_that_was_reached_is_told(scope: Scope) -> None:
    """So that the model does not take it for the program's own failure."""
    each = "python3 -c 'x = bytearray(120 << 20); import time; time.sleep(2)' &"
    result = await shell(scope, f"{each} {each} {each} wait")
    assert "the memory limit of 256 MiB was reached" in result.text


@pytest.mark.clause("BOX-3")
async def test_without_the_sandbox_the_shell_is_unsupported(scope: Scope, open_jail: Jail, place: Place) -> None:
    """It says why and how to fix it, and nothing ran."""
    without = msgspec.structs.replace(scope, sandbox=BwrapSandbox(open_jail.roots, search_path="/nowhere"))
    with pytest.raises(Unsupported, match="apt-get install -y bubblewrap"):
        await shell(without, "touch ran")
    assert not (place.workspace / "ran").exists()


@pytest.fixture
def bare(open_jail: Jail) -> Iterator[BareSandbox]:
    """Return the back end that the operator must have written."""
    sandbox = sandbox_from(SandboxSettings(backend="none"), open_jail.roots)
    assert isinstance(sandbox, BareSandbox)
    yield sandbox
    sandbox.kill_all()


async def test_a_command_runs_in_a_folder_whose_name_is_no_utf_8(scope: Scope, bare: BareSandbox, place: Place) -> None:
    """With the sandbox and without it, by the shown name; its output can be encoded."""
    folder = place.workspace / os.fsdecode(b"d\xe9")
    folder.mkdir()
    (folder / os.fsdecode(b"f\xe9")).touch()
    for sandbox in (scope.sandbox, bare):
        told = await shell(msgspec.structs.replace(scope, sandbox=sandbox), "ls", cwd="d\\xe9")
        assert (told.ok, told.text) == (True, "exit code 0\nf\ufffd")


@pytest.mark.clause("BOX-3", "SEC-3")
async def test_none_runs_in_the_workspace_with_a_built_environment(bare: BareSandbox, place: Place) -> None:
    """Nothing of the host's environment is inherited, and it says that it is no sandbox."""
    assert bare.bare
    assert "without a sandbox" in bare.describe()
    assert "no sandbox" in bare.check().text
    os.environ["PLANTED_FOR_THE_SHELL"] = "planted"
    try:
        finished = await bare.run("pwd; env; echo x > made", cwd=".", timeout_seconds=30, environment={"LENT": "v"})
    finally:
        del os.environ["PLANTED_FOR_THE_SHELL"]
    assert finished.exit_code == 0
    assert finished.output.split("\n")[0] == str(place.workspace)
    assert "LENT=v\n" in finished.output
    assert "planted" not in finished.output
    assert (place.workspace / "made").exists()


async def test_none_tells_exit_codes_and_time_outs(bare: BareSandbox) -> None:
    """As any back end."""
    assert (await bare.run("exit 3", cwd=".", timeout_seconds=30, environment={})).exit_code == 3
    finished = await bare.run("echo begun; sleep 69 & sleep 69", cwd=".", timeout_seconds=0.5, environment={})
    assert (finished.timed_out, finished.output) == (True, "begun\n")
    assert gone("sleep", "69")


def _begun(event: asyncio.Event, _output: str) -> None:
    event.set()


async def test_none_ends_the_group_of_a_cancelled_command(bare: BareSandbox) -> None:
    """Within moments; also when another thread says so."""
    for stop_from_elsewhere in (False, True):
        begun = asyncio.Event()
        running = asyncio.ensure_future(
            bare.run(
                "sleep 70 & echo x; sleep 70",
                cwd=".",
                timeout_seconds=60,
                environment={},
                on_output=functools.partial(_begun, begun),
            )
        )
        async with asyncio.timeout(30):
            await begun.wait()
            began = time.monotonic()
            if stop_from_elsewhere:
                await asyncio.to_thread(bare.kill_all)
            else:
                running.cancel()
            await asyncio.wait([running])
        assert time.monotonic() - began < 1
        assert gone("sleep", "70")


async def test_none_keeps_to_folders_of_the_group(bare: BareSandbox, place: Place) -> None:
    """As a starting place; no boundary is claimed."""
    (place.workspace / "way").symlink_to("/")
    finished = await bare.run("pwd", cwd="docs", timeout_seconds=30, environment={})
    assert finished.output.strip() == str(place.read)
    for cwd in ("..", "way"):
        with pytest.raises(PathViolation):
            await bare.run("pwd", cwd=cwd, timeout_seconds=30, environment={})


async def test_a_question_s_answer_is_the_result(scope: Scope) -> None:
    """In the person's words."""
    asked: list[str] = []

    async def answer(question: str) -> str:
        asked.append(question)
        return "the blue one"

    listening = msgspec.structs.replace(scope, ask=answer)
    result = await AskPerson().run(AskPersonArguments(question="Which one?"), listening)
    assert (result, asked) == (ToolResult(text="the blue one"), ["Which one?"])
