"""Finds a model when none is configured: a key in the environment, a server on this machine, else the embedded one.

Returns settings and a sentence on how they came about; who asks decides what to do with them. A key stays where it
is: the settings hold a reference to it.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from host.config.settings import EMBEDDED, ModelSettings, Price
from host.models.anthropic import ANTHROPIC_URL
from host.models.connection import get_body
from host.models.openai import OPENAI_URL

LOCAL_PORTS: Final = (11434, 1234, 8080)  # Ollama, LM Studio, llama.cpp
# Each cloud's balanced model. For OpenAI the newer families are passed over: over chat completions they refuse tools
# unless their reasoning is switched off.
ANTHROPIC_MODEL: Final = "claude-sonnet-5-5"
OPENAI_MODEL: Final = "gpt-5-mini"

_PROBE_SECONDS: Final = 1.5  # a server on this machine that lists its models more slowly is not awake
_LONGEST_LIST_BYTES: Final = 1024 * 1024
# Parts of names of models that do not chat. Servers list all they have, and have no common field for what it is for.
_NO_CHAT: Final = (
    *("embed", "minilm", "bge-", "gte-", "e5-", "rerank", "whisper", "tts", "transcri", "moderation"),
    *("dall-e", "diffusion", "clip-", "guard"),
)


class FoundModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that was found by looking."""

    settings: ModelSettings
    how: str  # one sentence for people
    only_proves: bool = False  # True: it answers, but is too small to be of use


class _Meta(msgspec.Struct):
    n_ctx: int | None = None  # llama.cpp: the window that is really served


class _Listed(msgspec.Struct):
    id: str
    max_model_len: int | None = None  # vLLM's word for the window
    meta: _Meta | None = None


class _Listing(msgspec.Struct):
    data: list[_Listed]


async def find_model(environment: Mapping[str, str], *, ports: Sequence[int] = LOCAL_PORTS) -> FoundModel:
    """Look in the order of the contract; never raises, for there is always the embedded model."""
    if found := _by_key(environment):
        return found
    for found in await asyncio.gather(*(_on_port(port) for port in ports)):
        if found is not None:
            return found
    listed = ", ".join(map(str, ports))
    return FoundModel(
        settings=EMBEDDED,
        how=f"no key in the environment and no model server on 127.0.0.1 (ports {listed}), so the small embedded model "
        f"{EMBEDDED.model} is used; it only proves that the installation works",
        only_proves=True,
    )


def _by_key(environment: Mapping[str, str]) -> FoundModel | None:
    if environment.get("ANTHROPIC_API_KEY"):
        settings = ModelSettings(
            provider="anthropic",
            base_url=ANTHROPIC_URL,
            model=ANTHROPIC_MODEL,
            api_key="env:ANTHROPIC_API_KEY",
            context_tokens=1_000_000,
            output_tokens=16_384,
            price=Price(input=2.0, output=10.0, cache_read=0.2),
        )
        return FoundModel(settings=settings, how=f"ANTHROPIC_API_KEY is set, so {ANTHROPIC_MODEL} is used")
    if environment.get("OPENAI_API_KEY"):
        settings = ModelSettings(
            provider="openai",
            base_url=OPENAI_URL,
            model=OPENAI_MODEL,
            api_key="env:OPENAI_API_KEY",
            context_tokens=272_000,  # of its window of 400,000 the rest is for output
            output_tokens=16_384,
            price=Price(input=0.25, output=2.0, cache_read=0.025),
        )
        return FoundModel(settings=settings, how=f"OPENAI_API_KEY is set, so {OPENAI_MODEL} is used")
    return None


async def _on_port(port: int) -> FoundModel | None:
    base_url = f"http://127.0.0.1:{port}/v1"
    listing = await _listing(f"{base_url}/models")
    chat = first_chat_model([entry.id for entry in listing])
    if chat is None:
        return None
    entry = next(entry for entry in listing if entry.id == chat)
    window = entry.max_model_len or (entry.meta.n_ctx if entry.meta is not None else None)
    settings = ModelSettings(provider="openai", base_url=base_url, model=chat, price=Price())
    if window:
        answer = min(settings.output_tokens, window // 4)
        settings = msgspec.structs.replace(settings, context_tokens=window, output_tokens=answer)
    return FoundModel(settings=settings, how=f"a model server answers on 127.0.0.1:{port}, so its {chat} is used")


async def _listing(url: str) -> list[_Listed]:
    """Return the models that a server lists; none where no server is, or something else."""
    body = await get_body(url, seconds=_PROBE_SECONDS, limit=_LONGEST_LIST_BYTES)
    if body is None:
        return []
    try:
        return msgspec.json.decode(body, type=_Listing).data
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []


def first_chat_model(names: Iterable[str]) -> str | None:
    """Return the first name that does not look like a model for something else than chat."""
    return next((name for name in names if not any(part in name.lower() for part in _NO_CHAT)), None)
