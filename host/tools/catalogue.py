"""Which tools a group has.

One line per tool; the gate registers what stands here, sorted by name, so that the stable prefix of every request
stays the same over a session (CTX-1).
"""

from host.config.packages import PackageList
from host.config.settings import GroupSettings
from host.tools.ask_person import AskPerson
from host.tools.files import EditFile, ReadFile, WriteFile
from host.tools.http import Http
from host.tools.install_package import InstallPackage
from host.tools.listing import ListFiles
from host.tools.search import SearchFiles
from host.tools.shell import Shell
from host.tools.tool import Tool


def tools_of(settings: GroupSettings) -> dict[str, Tool]:
    """Return the tools of a group by name."""
    tools: tuple[Tool, ...] = (
        AskPerson(),
        EditFile(),
        Http(),
        InstallPackage(PackageList(settings.sandbox.packages), available=settings.sandbox.backend in {"bwrap", "none"}),
        ListFiles(),
        ReadFile(),
        SearchFiles(),
        Shell(),
        WriteFile(),
    )
    return {tool.passport.name: tool for tool in tools}
