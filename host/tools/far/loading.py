"""Sending modules to a Python that has none of them: as one text that makes them importable and starts one.

The text is what `python3 -c BOOT` reads from its standard input, so nothing is written at the far end. What was loaded
so can start further processes in the same way.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Final

NAME: Final = "host.tools.far.loading"
MODULES: Final = (
    "host", "host.errors", "host.stops", "host.tools", "host.tools.bash", "host.tools.beneath", "host.tools.beside",
    "host.tools.far", "host.tools.far.agent", "host.tools.far.children", "host.tools.far.commands",
    "host.tools.far.jobs", "host.tools.far.loading", "host.tools.far.operations", "host.tools.far.parentage",
    "host.tools.far.searches", "host.tools.far.seeker", "host.tools.far.warden", "host.tools.far.wire",
    "host.tools.globs", "host.tools.jail", "host.tools.limits", "host.tools.long_text", "host.tools.names",
    "host.tools.output_file", "host.tools.page", "host.tools.paths", "host.tools.processes", "host.tools.replace",
    "host.tools.roots", "host.tools.search_child", "host.tools.searching", "host.tools.seen", "host.tools.steps",
    "host.tools.trash", "host.tools.walk",
)  # fmt: skip
"""What is sent: all that the far end imports beside the standard library."""

BOOT: Final = "import sys;f=sys.stdin.buffer;exec(f.read(int(f.readline())))"
"""Without quotes, spaces that matter or signs that any login shell would take for its own."""

OPTIONS: Final = ("-I", "-S", "-B")  # no site, no variables, no folder of the user's, nothing written
_OLDEST: Final = (3, 11)

SOURCES: dict[str, str] = {}
"""At the far end: the modules that came, by name."""


def payload(sources: Mapping[str, str], entry: str) -> bytes:
    """Return what `BOOT` reads: `sources` become importable, and `main` of the module `entry` is called."""
    text = (
        "import sys\n"
        f"if sys.version_info < {_OLDEST!r}:\n"
        f"    sys.exit('elis: Python %d.%d is too old, {_OLDEST[0]}.{_OLDEST[1]} is needed' % sys.version_info[:2])\n"
        f"module = type(sys)({NAME!r})\n"
        f"sys.modules[{NAME!r}] = module\n"
        f"sources = {dict(sources)!r}\n"
        f"exec(sources[{NAME!r}], module.__dict__)\n"
        f"module.load(sources, {entry!r})\n"
    ).encode("utf-8", "backslashreplace")
    return b"%d\n" % len(text) + text


def load(sources: Mapping[str, str], entry: str) -> None:
    """At the far end: make `sources` importable and call `main` of `entry`."""
    SOURCES.update(sources)
    sys.meta_path.insert(0, _Sent())
    importlib.import_module(entry).main()


class _Sent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that were sent."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname not in SOURCES:
            return None
        package = any(name.startswith(f"{fullname}.") for name in SOURCES)
        return importlib.util.spec_from_loader(fullname, self, is_package=package)

    def exec_module(self, module: types.ModuleType) -> None:
        code = compile(SOURCES[module.__name__], f"<elis {module.__name__}>", "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - this is how modules come here
