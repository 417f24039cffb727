"""A provider under test and the way to put its requests together."""

from typing import Literal

import msgspec

from host.config.settings import ModelSettings
from host.models.anthropic import AnthropicProvider
from host.models.conversation import Message, Provider, Request, Said, ToolSpec
from host.models.openai import OpenAIProvider

Kind = Literal["openai", "anthropic"]
KEY = "sk-planted-7f3a"


class Talk(msgspec.Struct, kw_only=True):
    """A provider, what is needed to make another like it, and the way to put a request together."""

    kind: Kind
    settings: ModelSettings
    provider: Provider

    def body(
        self,
        *messages: Message,
        system: str = "You are a test.",
        tools: tuple[ToolSpec, ...] = (),
        tools_allowed: bool = True,
    ) -> bytes:
        """Return a request's body as the host would send it."""
        provider = self.provider
        return Request(
            head=provider.head(system, tools),
            messages=tuple(provider.message(message) for message in messages or (Said("hello"),)),
            tail=provider.tail(max_tokens=100, tools_allowed=tools_allowed),
        ).body()


def made(kind: Kind, settings: ModelSettings, key: str | None = KEY, silence_seconds: float = 30.0) -> Provider:
    """Return a provider with a silence bound that suits tests."""
    made_by = OpenAIProvider if kind == "openai" else AnthropicProvider
    return made_by(settings, key, silence_seconds=silence_seconds)
