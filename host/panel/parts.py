"""The parts that handlers are given, by the name of their parameter. `host.panel.app` provides them."""

from typing import Annotated, Any, Final

import msgspec
from litestar import Request
from litestar.datastructures import State
from litestar.params import Dependency

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

_AS_IT_IS: Final = Dependency(skip_validation=True)

AnyRequest = Request[Any, Any, State]
TheDirectory = Annotated[Directory, _AS_IT_IS]
TheSessions = Annotated[Sessions, _AS_IT_IS]
TheDoor = Annotated[Door, _AS_IT_IS]
TheSite = Annotated[Site, _AS_IT_IS]
TheOverview = Annotated[Overview, _AS_IT_IS]
TheClosing = Annotated[Closing, _AS_IT_IS]
TheDocuments = Annotated[Documents, _AS_IT_IS]
TheAssets = Annotated[Assets, _AS_IT_IS]
TheCaller = Annotated[Caller, _AS_IT_IS]


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
