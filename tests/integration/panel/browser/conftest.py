"""One Chromium for each module, one panel and one visitor for each test."""

import os
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.integration.panel.browser.visiting import ARGUMENTS, CHROMIUM, Visitor
from tests.integration.panel.conftest import Panel, running_panel


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Browser]:
    """One Chromium for all tests of this module, with a home of its own: it leaves files there."""
    home = {"HOME": str(tmp_path_factory.mktemp("browser"))}
    own = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")} | home
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, env=dict(own))
        yield running
        await running.close()


@pytest_asyncio.fixture(loop_scope="module")
async def panel() -> AsyncGenerator[Panel]:
    """A panel of a test's own."""
    async with running_panel("main") as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def visitor(browser: Browser, panel: Panel) -> AsyncGenerator[Visitor]:
    """A visitor whose pages must end without an error in the console and without a foreign request."""
    visiting = Visitor(browser, panel)
    yield visiting
    for context in visiting.contexts:
        await context.close()
    assert [trouble for trouble in visiting.troubles if not any(part in trouble for part in visiting.expected)] == []
