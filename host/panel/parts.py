"""The parts that handlers are given, by the name of their parameter. `host.panel.app` provides them."""

from typing import Any

import msgspec
from litestar import Request
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from host.errors import ResourceBusy
from host.groups.port import GroupPort
from host.panel.access import Caller, Door
from host.panel.assets import Assets
from host.panel.directory import Directory, GroupStarting
from host.panel.documents import Documents
from host.panel.listen import Site
from host.panel.overview import Overview
from host.panel.sessions import Sessions
from host.panel.streams import Closing

AnyRequest = Request[Any, Any, State]
TheDirectory = NamedDependency[SkipValidation[Directory]]
TheSessions = NamedDependency[SkipValidation[Sessions]]
TheDoor = NamedDependency[SkipValidation[Door]]
TheSite = NamedDependency[SkipValidation[Site]]
TheOverview = NamedDependency[SkipValidation[Overview]]
TheClosing = NamedDependency[SkipValidation[Closing]]
TheDocuments = NamedDependency[SkipValidation[Documents]]
TheAssets = NamedDependency[SkipValidation[Assets]]
TheCaller = NamedDependency[SkipValidation[Caller]]


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """It is done, and there is nothing more to say."""

    ok: bool = True


def caller_of(request: AnyRequest) -> Caller:
    """Return who asks, as the guard found out."""
    caller: Caller = request.state.caller
    return caller


def port_of(directory: Directory, name: str) -> GroupPort:
    """Return the way to a group; raise NotFound, GroupStarting, or what keeps the group from running."""
    try:
        return directory.group(name)
    except GroupStarting:
        raise
    except ResourceBusy as error:
        raise GroupStarting(error.message) from error
