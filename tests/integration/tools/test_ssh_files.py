"""The file tools over a real sshd: the same rules as at home, held at the far end, whoever swaps links there."""

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from host.config.settings import GroupSettings, SandboxSettings
from host.errors import ElisError, PathViolation, ToolFailed, Unsupported
from host.tools.catalogue import tools_of
from host.tools.files import EditFile, EditFileArguments, ReadFile, ReadFileArguments, WriteFile, WriteFileArguments
from host.tools.install_package import InstallPackage, InstallPackageArguments
from host.tools.jail import Jail, Missing
from host.tools.listing import ListFiles, ListFilesArguments
from host.tools.search import SearchFiles, SearchFilesArguments
from host.tools.seen import ChangedSince, SeenFiles
from host.tools.shell import Shell, ShellArguments
from host.tools.ssh.sandbox import SshSandbox
from host.tools.text import FILE_BYTES
from host.tools.tool import Scope

from .far_machine import BOUND, HOST, FarMachine, machine, until

__all__ = ["machine"]


async def _nobody(question: str) -> str:
    pytest.fail(f"nobody should be asked {question!r}")


@pytest.fixture
def far(machine: FarMachine, request: pytest.FixtureRequest) -> Path:
    """A root of this test's own at the far end, beside something that no tool may reach."""
    name = "".join(sign if sign.isalnum() else "-" for sign in request.node.name)[:60]
    root = machine.top / name / "work"
    root.mkdir(parents=True)
    (root.parent / "outside").write_text("outside")
    return root


@pytest.fixture
def scope(machine: FarMachine, far: Path, tmp_path: Path) -> Iterator[Scope]:
    """What the calls of a turn may use."""
    (tmp_path / "ws").mkdir()
    jail = Jail.open(tmp_path / "ws", {})
    sandbox = SshSandbox(jail.roots[0], HOST, str(far), search_path=str(machine.programs))
    yield Scope(turn="t1", call="1.0", key="t1:1.0", jail=sandbox.files, sandbox=sandbox, seen=SeenFiles(), ask=_nobody)
    sandbox.files.close()
    assert sorted(path.name for path in (tmp_path / "ws").iterdir()) == [".elis"], "something was written at home"
    jail.close()


async def read(scope: Scope, path: str, **changes: int) -> str:
    """Read a file as a model would."""
    return (await ReadFile().run(ReadFileArguments(path=path, **changes), scope)).text


@pytest.mark.clause("BOX-3", "PATH-2")
async def test_files_are_written_read_edited_listed_and_found_there(scope: Scope, far: Path) -> None:
    """And the version before is kept there for undo."""
    made = await WriteFile().run(WriteFileArguments(path="notes/plan.md", content="one\ntwo\n"), scope)
    assert made.text == "wrote notes/plan.md: 2 lines, 8 bytes."
    change = EditFileArguments(path="notes/plan.md", old_text="two", new_text="2")
    edited = await EditFile().run(change, msgspec.structs.replace(scope, key="t1:1.1"))
    assert (far / "notes" / "plan.md").read_text() == "one\n2\n"
    kept = edited.text.rpartition("the version before it is ")[2].rstrip(".")
    assert (far / kept).read_text() == "one\ntwo\n"
    assert "one\n2" in await read(scope, "/workspace/notes/plan.md")
    listed = await ListFiles().run(ListFilesArguments(path=".", pattern="*.md"), scope)
    assert "notes/plan.md 6" in listed.text
    found = await SearchFiles().run(SearchFilesArguments(text="^o", regex=True), scope)
    assert "notes/plan.md:1: one" in found.text
    with pytest.raises(ToolFailed, match="no regular expression"):
        await SearchFiles().run(SearchFilesArguments(text="(", regex=True), scope)
    with pytest.raises(Missing, match="list_files"):
        await read(scope, "nothing")


@pytest.mark.clause("BOX-3", "PASS-2")
async def test_a_file_that_changed_there_since_it_was_seen_is_not_written_over(scope: Scope, far: Path) -> None:
    """The last look is at the far end, the memory of what was seen at home."""
    (far / "a").write_text("before")
    await read(scope, "a")
    (far / "a").write_text("somebody else's")
    with pytest.raises(ChangedSince, match="read it again"):
        await WriteFile().run(WriteFileArguments(path="a", content="mine"), scope)
    assert (far / "a").read_text() == "somebody else's"
    await read(scope, "a")
    await WriteFile().run(WriteFileArguments(path="a", content="mine"), scope)
    assert (far / "a").read_text() == "mine"


@pytest.mark.clause("BOX-3", "PATH-1")
@pytest.mark.parametrize(
    "path", ["../outside", "/etc/passwd", "link", "folder/outside", "/proc/self/environ", "null", "nul\0", "loop"]
)
async def test_no_path_leads_out_of_the_remote_root(scope: Scope, far: Path, path: str) -> None:
    """Whatever its words say, and whatever links lie there."""
    (far / "link").symlink_to(far.parent / "outside")
    (far / "folder").symlink_to("..")
    (far / "null").symlink_to("/dev/null")
    (far / "loop").symlink_to("loop")
    with pytest.raises(PathViolation):
        await read(scope, path)
    with pytest.raises(ElisError):
        await WriteFile().run(WriteFileArguments(path=path, content="x"), scope)
    assert (far.parent / "outside").read_text() == "outside"


@pytest.mark.clause("BOX-3", "PATH-1")
async def test_links_swapped_at_the_far_end_between_check_and_use_lead_nowhere(scope: Scope, far: Path) -> None:
    """A thread there swaps a folder for a link out of the root as fast as it can."""
    (far / "real").mkdir()
    (far / "real" / "outside").write_text("inside")
    (far / "a").symlink_to("real")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for target in ("..", "real"):
                (far / "b").symlink_to(target)
                (far / "b").rename(far / "a")

    swapping = threading.Thread(target=swap)
    swapping.start()
    told: set[str] = set()
    try:
        for number in range(150):
            try:
                told.add(bytes((await scope.jail.read("a/outside", 100)).data).decode())
            except ElisError as error:
                told.add(type(error).__name__)
            try:
                await scope.jail.write(f"a/new{number}", b"x", key=f"t1:{number}", admit=lambda _shown, _present: None)
            except ElisError:
                continue
    finally:
        stop.set()
        swapping.join()
    assert "outside" not in told
    assert "inside" in told
    assert sorted(path.name for path in far.parent.iterdir()) == ["outside", "work"]


@pytest.mark.clause("BOX-3", "CTX-3")
async def test_long_files_and_long_outputs_are_handled_there(scope: Scope, far: Path) -> None:
    """A file of more than what is sent whole is scanned there; an output too long for an answer lies there."""
    line = b"x" * 99 + b"\n"
    (far / "long").write_bytes(line * (FILE_BYTES // 100 + 10) + b"last\n")
    total = FILE_BYTES // 100 + 11
    assert f"lines {total}-{total} of {total}:\nlast" in await read(scope, "long", start_line=total)
    (far / "long").unlink()
    ran = await Shell().run(ShellArguments(command="seq 100000"), scope)
    assert ran.kept is not None
    assert (far / "outputs" / "t1-1.0.txt").read_text() == "".join(f"{number}\n" for number in range(1, 100_001))
    assert "100000" in await read(scope, "outputs/t1-1.0.txt", start_line=100_000)


@pytest.mark.clause("BOX-3")
async def test_a_search_that_takes_for_ever_is_ended_there(scope: Scope, far: Path, machine: FarMachine) -> None:
    """By its time, and by a Stop."""
    (far / "trap").write_text("a" * 60 + "!\n")
    asked = SearchFilesArguments(text="(a+)+$", regex=True)
    assert "not finished" in (await SearchFiles(seconds=1.0).run(asked, scope)).text
    task = asyncio.create_task(SearchFiles(seconds=BOUND).run(asked, scope))
    await until(lambda: len(machine.agents()) > 1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await until(lambda: len(machine.agents()) == 1)


@pytest.mark.clause("BOX-3")
async def test_names_that_are_no_utf8_go_over_as_they_are_shown(scope: Scope, far: Path) -> None:
    """And find their way back."""
    (far / os.fsdecode(b"caf\xe9")).mkdir()
    (far / os.fsdecode(b"caf\xe9") / "a").write_text("inside")
    assert "inside" in await read(scope, r"caf\xe9/a")
    ran = await Shell().run(ShellArguments(command="cat a", cwd=r"caf\xe9"), scope)
    assert "inside" in ran.text


@pytest.mark.clause("BOX-3", "PATH-3")
async def test_packages_are_not_installed_for_another_machine(scope: Scope, far: Path) -> None:
    """It says so, and installs nothing at home instead."""
    settings = GroupSettings(sandbox=SandboxSettings(backend="ssh", host=HOST, root=str(far)))
    tool = tools_of(settings)["install_package"]
    assert isinstance(tool, InstallPackage)
    with pytest.raises(Unsupported, match="install it there"):
        await tool.run(InstallPackageArguments(package="requests"), scope)
