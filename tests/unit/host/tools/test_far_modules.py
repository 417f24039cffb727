"""What is sent to a far end: all that it imports, and nothing that only this machine has."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from host.tools.far.loading import BOOT, MODULES, OPTIONS, payload
from host.tools.far.wire import DATA_BYTES, Garbled, packed, received

ROOT = Path(__file__).parents[4]


def source(name: str) -> str:
    """Return the text of a module."""
    path = ROOT.joinpath(*name.split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


def imported(name: str) -> set[str]:
    """Return the modules that a module imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source(name))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = {f"{module}.{alias.name}" for alias in node.names}
            submodules = {each for each in names if ROOT.joinpath(*each.split(".")).with_suffix(".py").exists()}
            found |= submodules if submodules == names else {module, *submodules}
    return found


@pytest.mark.clause("BOX-3")
@pytest.mark.parametrize("name", MODULES)
def test_what_is_sent_imports_only_the_standard_library_and_what_is_sent(name: str) -> None:
    """A remote machine has no more than its own Python."""
    for module in imported(name):
        assert module in MODULES or module.split(".")[0] in sys.stdlib_module_names, f"{name} imports {module}"


def test_nothing_is_sent_that_nobody_imports() -> None:
    """Every module is reached from the three that are started."""
    todo = ["host.tools.far.agent", "host.tools.far.warden", "host.tools.far.seeker"]
    reached: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in reached:
            parents = {name.rpartition(".")[0]} - {""}
            reached.add(name)
            todo += [module for module in imported(name) | parents if module in MODULES]
    assert reached == set(MODULES)


def test_a_python_that_is_too_old_says_so() -> None:
    """Instead of a syntax error of some module."""
    text = payload({}, "nothing").partition(b"\n")[2].replace(b"< (3, 11)", b"< (99, 0)")
    sent = b"%d\n" % len(text) + text
    done = subprocess.run([sys.executable, *OPTIONS, "-c", BOOT], input=sent, capture_output=True, check=False)
    assert b"is too old" in done.stderr
    assert done.returncode == 1


def test_a_message_arrives_as_it_was_sent() -> None:
    """With bytes of names that are no UTF-8."""
    left = bytearray(packed({"path": "caf\udce9"}, b"\0\xff") + packed({}))

    def read(size: int) -> bytes:
        part = bytes(left[:size])
        del left[:size]
        return part

    assert received(read) == ({"path": "caf\udce9"}, b"\0\xff")
    assert received(read) == ({}, b"")
    assert received(read) is None


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff\xff\xff\xff\0\0\0\0",
        b"\0\0\0\2" + (DATA_BYTES + 1).to_bytes(4, "big") + b"{}",
        b"\0\0\0\2\0\0\0\0[]",
        b"\0\0\0\2\0\0\0\0{{",
        b"\0\1\x86\xa0\0\0\0\0" + b"[" * 100_000,
    ],
)
def test_lengths_and_forms_are_not_believed(sent: bytes) -> None:
    """Whoever speaks at the other end may mean ill."""
    left = bytearray(sent)

    def read(size: int) -> bytes:
        assert size <= DATA_BYTES
        part = bytes(left[:size])
        del left[:size]
        return part

    with pytest.raises(Garbled):
        received(read)
