"""The web edge put together: routes, guards, headers and error answers in one Litestar application.

The composition root calls `build_app` and hands the result to `PanelServer`.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final

from litestar import Litestar, Router
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme

from host.panel import pages
from host.panel.access import Door, guard
from host.panel.api import approvals, groups, host, journal, secrets, sign_in, tools
from host.panel.assets import Assets
from host.panel.bodies import BodyRequest
from host.panel.directory import Directory
from host.panel.documents import Documents
from host.panel.headers import protect
from host.panel.listen import Site
from host.panel.openapi import OpenApiDocument
from host.panel.overview import Overview
from host.panel.parts import caller_of
from host.panel.problems import exception_handlers
from host.panel.sessions import Sessions
from host.panel.streams import Closing
from host.record.host_record import HostRecord

MAX_BODY_BYTES: Final = 4 * 1024 * 1024
TALLY_SECONDS: Final = 60.0


def build_app(  # noqa: PLR0913 - each is a part that the composition root owns
    directory: Directory,
    sessions: Sessions,
    *,
    token: str,
    site: Site,
    record: HostRecord,
    now_us: Callable[[], int],
    host_name: str = "elis",
    version: str = "0",
    rest: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Litestar:
    """Return the application. `rest` is how long answers are kept back: it waits for that many seconds."""
    door = Door(token=token, site=site, sessions=sessions, record=record, now_us=now_us, rest=rest)
    overview, assets = Overview(directory), Assets()
    documents = Documents(assets, host_name)
    closing = Closing()
    parts: dict[str, object] = {
        "directory": directory,
        "sessions": sessions,
        "site": site,
        "door": door,
        "overview": overview,
        "closing": closing,
        "documents": documents,
        "assets": assets,
    }
    app = Litestar(
        route_handlers=[*_open_routes(door), *_pages(door), *_api(door)],
        dependencies={
            **{name: Provide(_constant(part), use_cache=True, sync_to_thread=False) for name, part in parts.items()},
            "caller": Provide(caller_of, sync_to_thread=False),
        },
        guards=[guard(door.right_host)],
        before_send=[protect],
        exception_handlers=exception_handlers(documents),
        lifespan=[_background(overview, door)],
        openapi_config=_openapi(version, door),
        request_class=BodyRequest,
        request_max_body_size=MAX_BODY_BYTES,
        logging_config=None,
        debug=False,
    )
    app.state.closing = closing
    return app


def close_streams(app: Litestar) -> None:
    """End all long-lived streams of `app` in order; new ones end at once."""
    closing: Closing = app.state.closing
    closing.close()


def _open_routes(door: Door) -> list[Router]:
    forms = Router(path="/", route_handlers=[pages.sign_in], guards=[guard(door.same_origin)])
    return [
        Router(path="/", route_handlers=[pages.login_page, pages.favicon, pages.healthz, pages.static_file]),
        forms,
    ]


def _pages(door: Door) -> list[Router]:
    return [
        Router(path="/", route_handlers=[pages.overview_page, pages.chat_page], guards=[guard(door.page)]),
        Router(path="/", route_handlers=[pages.sign_out], guards=[guard(door.same_origin), guard(door.page)]),
    ]


def _api(door: Door) -> list[Router]:
    for_operators = Router(
        path="/api/v1",
        security=[{"token": []}],
        guards=[guard(door.operator)],
        route_handlers=[
            host.status,
            host.follow_overview,
            groups.list_groups,
            groups.add_group,
            groups.show_group,
            groups.remove_group,
            groups.instructions,
            groups.mask,
            groups.check_command,
            groups.say,
            groups.stop,
            groups.queue,
            groups.release,
            groups.drop,
            tools.tool_servers,
            tools.tool_server,
            tools.release_tools,
            journal.events,
            journal.turns,
            journal.turn_events,
            journal.request_body,
            journal.search,
            journal.verify,
            journal.export,
            approvals.approvals,
            approvals.settle,
            approvals.suggestions,
            approvals.assisted,
            approvals.grants,
            approvals.revoke,
            secrets.secret_status,
            sign_in.session,
            sign_in.sign_out_everywhere,
        ],
    )
    for_token = Router(
        path="/api/v1",
        security=[{"token": []}],
        guards=[guard(door.token_only)],
        route_handlers=[host.shutdown, secrets.set_secret, sign_in.make_link],
    )
    return [for_operators, for_token]


def _openapi(version: str, door: Door) -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Elis",
        version=version,
        description="What the panel and the command line ask of an Elis host.",
        # The router is the document itself: Litestar adds its own "not found" page to whatever router it is given.
        openapi_router=Router(
            path="/api/v1/openapi.json", route_handlers=[], guards=[guard(door.operator)], include_in_schema=False
        ),
        render_plugins=[OpenApiDocument(path="/")],
        components=Components(security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}),
        use_handler_docstrings=True,
        operation_id_creator=lambda handler, _method, _path: handler.handler_name,
    )


def _constant(part: object) -> Callable[[], object]:
    return lambda: part


def _background(overview: Overview, door: Door) -> Callable[[Litestar], contextlib.AbstractAsyncContextManager[None]]:
    """Return what runs beside the requests; if one of its tasks dies, the panel ends with it."""

    @contextlib.asynccontextmanager
    async def run(_: Litestar) -> AsyncGenerator[None]:
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(overview.run(), name="panel overview"),
                tasks.create_task(_every_minute(door), name="panel sign-in tally"),
            ]
            try:
                yield
            finally:
                for task in running:
                    task.cancel()
        await door.journal_failures(closing=True)

    return run


async def _every_minute(door: Door) -> None:
    while True:
        await asyncio.sleep(TALLY_SECONDS)
        await door.journal_failures()
