"""Which provider speaks for which settings."""

from typing import assert_never

from host.config.settings import ModelSettings
from host.errors import SettingsError
from host.models.anthropic import AnthropicProvider
from host.models.conversation import Provider
from host.models.openai import OpenAIProvider


def provider_for(settings: ModelSettings, api_key: str | None) -> Provider:
    """Return the provider; `api_key` is the key itself. Raise SettingsError.

    The embedded model is a child process that speaks chat completions: whoever started it has put its address into
    `base_url` and passes its key.
    """
    match settings.provider:
        case "anthropic":
            return AnthropicProvider(settings, api_key)
        case "openai":
            return OpenAIProvider(settings, api_key)
        case "embedded":
            if not settings.base_url:
                message = "the embedded model is not running; see `elis status`, then start the host again"
                raise SettingsError(message)
            return OpenAIProvider(settings, api_key)
        case _:
            assert_never(settings.provider)
