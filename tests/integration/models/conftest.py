"""A scripted model and a provider of each kind that talks to it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from host.config.settings import ModelSettings
from tests.integration.models.talk import Talk, made
from tests.scripted_model import ScriptedModel


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    """A scripted model that is running."""
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture(params=["openai", "anthropic"])
async def talk(request: pytest.FixtureRequest, server: ScriptedModel) -> AsyncIterator[Talk]:
    """A provider of each kind towards the scripted model."""
    settings = ModelSettings(provider=request.param, base_url=server.base_url, model="scripted")
    provider = made(request.param, settings)
    yield Talk(kind=request.param, settings=settings, provider=provider)
    await provider.aclose()
