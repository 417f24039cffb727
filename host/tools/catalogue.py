"""Which tools a group has.

One line per tool; the gate registers what stands here, sorted by name, so that the stable prefix of every request
stays the same over a session (CTX-1).
"""

from typing import Final

from host.config.packages import PackageList
from host.config.settings import GroupSettings, SandboxSettings
from host.tools.ask_person import AskPerson
from host.tools.files import EditFile, ReadFile, WriteFile
from host.tools.http import Http
from host.tools.install_package import InstallPackage
from host.tools.listing import ListFiles
from host.tools.search import SearchFiles
from host.tools.shell import Shell
from host.tools.tool import Tool

_WITHOUT_PACKAGES: Final = {
    "container": "nothing is installed for containers; ask the operator to build it into the image",
    "ssh": "nothing is installed on another machine; ask the operator to install it there",
}


def _elsewhere(sandbox: SandboxSettings) -> str:
    """Say where commands run when that is another machine; empty when it is this one."""
    if sandbox.backend != "ssh":
        return ""
    return (
        f"Run a shell command on the machine {sandbox.host}, in the folder {sandbox.root}, which the file tools call "
        "/workspace: use relative paths. It may read, write and reach what its account there may."
    )


def tools_of(settings: GroupSettings) -> dict[str, Tool]:
    """Return the tools of a group by name."""
    tools: tuple[Tool, ...] = (
        AskPerson(),
        EditFile(),
        Http(),
        InstallPackage(
            PackageList(settings.sandbox.packages), unavailable=_WITHOUT_PACKAGES.get(settings.sandbox.backend, "")
        ),
        ListFiles(),
        ReadFile(),
        SearchFiles(),
        Shell(_elsewhere(settings.sandbox)),
        WriteFile(),
    )
    return {tool.passport.name: tool for tool in tools}
