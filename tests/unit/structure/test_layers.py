"""The dependency rule of docs/architecture.md, enforced; imports inside functions count."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LEAVES = ("lanes", "a2a", "memory", "browser")
LAYERS = {
    "ids": 1.0,
    "stops": 1.0,
    "errors": 1.1,
    "config": 1.2,
    "passport": 1.15,
    "faults": 1.15,
    "telemetry": 1.2,
    "excerpts": 1.0,
    "record": 2,
    "models": 3,
    "vault": 3,
    "tools": 3,
    "policy": 3,
    "gate": 4,
    "context": 4,
    "turn": 5,
    "groups": 6,
    "panel": 7,
    "services": 7,
    "app": 8,
    "cli": 9,
}
HOMES = {
    "httpcore2": ("host/tools/web_exchange.py", "host/models/connection.py", "host/models/network.py"),
    "packaging": ("host/config/packages.py",),
    "PIL": ("host/tools/image_child.py",),
    "ray": ("host/groups/actor.py",),
    "mcp": ("host/tools/servers/",),
    "mcp_types": ("host/tools/servers/",),
    "jsonschema": ("host/tools/servers/schema.py",),
    "litestar": ("host/panel/",),
    "keyring": ("host/vault/keychain.py",),
    "xllamacpp": ("host/services/embedded_model.py",),
    "tree_sitter_bash": ("host/policy/shell/syntax.py",),
}


def python_files() -> list[Path]:
    """Return the sources of the five packages."""
    return sorted(file for package in ("host", *LEAVES) for file in (ROOT / package).rglob("*.py"))


def imports(file: Path) -> Iterator[str]:
    """Yield every module that a file imports, at whatever depth."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            yield node.module or ""
            if node.module == "host":
                yield from (f"host.{alias.name}" for alias in node.names)


def room(module: str) -> str:
    """Return the room of the host that a module belongs to."""
    return module.split(".")[1]


@pytest.mark.parametrize("file", python_files(), ids=lambda file: str(file.relative_to(ROOT)))
def test_a_module_imports_only_what_lies_below_it(file: Path) -> None:
    """Leaves know nobody; a room of the host knows lower rooms and itself."""
    parts = file.relative_to(ROOT).parts
    for module in imports(file):
        top = module.split(".")[0]
        if parts[0] in LEAVES:
            assert top not in {"host", *LEAVES} - {parts[0]}, f"a leaf imports {module}"
        elif top == "host" and module != "host":
            own, other = parts[1].removesuffix(".py"), room(module)
            assert own == other or LAYERS[other] < LAYERS[own], f"{own} imports {module}"


@pytest.mark.parametrize("file", python_files(), ids=lambda file: str(file.relative_to(ROOT)))
def test_a_library_with_a_home_is_imported_there_alone(file: Path) -> None:
    """Replacing Ray or the web framework is replacing a file or a folder."""
    name = file.relative_to(ROOT).as_posix()
    for module in imports(file):
        home = HOMES.get(module.split(".")[0])
        assert home is None or name.startswith(home), f"{name} imports {module}, whose home is {' and '.join(home)}"


def test_every_room_of_the_host_has_a_layer() -> None:
    """A new room has to say where it stands."""
    rooms = {file.relative_to(ROOT / "host").parts[0].removesuffix(".py") for file in (ROOT / "host").rglob("*.py")}
    assert rooms - {"__init__"} == set(LAYERS)


def test_nobody_imports_the_host_but_the_host() -> None:
    """The four packages stay small libraries."""
    for leaf in LEAVES:
        for file in (ROOT / leaf).rglob("*.py"):
            assert not [module for module in imports(file) if module.split(".")[0] == "host"], file
