"""One call of one token to each model, to see whether it can be reached and lets us in.

For `elis doctor`. Nothing is journaled: the call belongs to no group. What went wrong is told in the words of the
provider's own failure, which carry no key.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from host.app.blueprints import MAIN_MODEL
from host.config.home import Home
from host.config.settings import ModelSettings, Settings
from host.errors import ElisError
from host.models.conversation import AttemptError, Said
from host.models.discovery import find_model
from host.models.provider import provider_for
from host.services.child import EmbeddedModel
from host.vault.references import fetch

TRIAL_SECONDS: Final = 30.0  # a model that is loaded from disk for this call may take that long


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one call."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


async def try_all(home: Home, settings: Settings, environment: Mapping[str, str]) -> list[Trial]:
    """Call every model of the settings, or the one that would be found, one after the other."""
    models = settings.models
    if not models:
        found = await find_model(environment)
        models = {MAIN_MODEL: found.settings}
    return [await _try(name, model, home, environment) for name, model in models.items()]


async def _try(name: str, model: ModelSettings, home: Home, environment: Mapping[str, str]) -> Trial:
    what = model.model or model.provider
    try:
        async with asyncio.timeout(TRIAL_SECONDS):
            if model.provider == "embedded":
                await _call_embedded(model)
            else:
                key = None if model.api_key is None else await fetch(model.api_key, environment, base=home.root)
                await _call(model, key)
    except AttemptError as error:
        return Trial(name=name, ok=False, detail=f"{what}: {error.detail}", fix=_fix(name, error))
    except ElisError as error:
        return Trial(name=name, ok=False, detail=f"{what}: {error.message}", fix=f"mend [models.{name}] as it says")
    except TimeoutError:
        fix = f"see whether the server at {model.base_url} is busy or stuck"
        return Trial(name=name, ok=False, detail=f"{what} did not answer within {TRIAL_SECONDS:.0f} s", fix=fix)
    return Trial(name=name, ok=True, detail=f"{what} answers")


async def _call_embedded(model: ModelSettings) -> None:
    """Start a process of our own for it: the running host's belongs to the host."""
    child = EmbeddedModel()
    try:
        await child.start()
        await _call(msgspec.structs.replace(model, base_url=child.base_url), child.key)
    finally:
        await child.stop()


async def _call(model: ModelSettings, key: str | None) -> None:
    provider = provider_for(model, key)
    try:
        body = provider.head("", ()) + provider.message(Said("Say ok.")) + provider.tail(max_tokens=1)
        await provider.infer(body, lambda _text: None)
    finally:
        await provider.aclose()


def _fix(name: str, error: AttemptError) -> str:
    match error.status:
        case None:
            return f"start the model's server, or mend base_url in [models.{name}]"
        case 401 | 403:
            return f"mend what api_key in [models.{name}] refers to"
        case 404:
            return f"mend base_url or model in [models.{name}]"
        case _:
            return "ask the provider, or try again later"
