"""What is chosen where keys lie in the environment, and which names chat."""

import pytest

from host.models.discovery import ANTHROPIC_MODEL, OPENAI_MODEL, find_model, first_chat_model


@pytest.mark.parametrize(
    ("environment", "provider", "model", "reference"),
    [
        ({"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}, "anthropic", ANTHROPIC_MODEL, "env:ANTHROPIC_API_KEY"),
        ({"OPENAI_API_KEY": "b", "ANTHROPIC_API_KEY": ""}, "openai", OPENAI_MODEL, "env:OPENAI_API_KEY"),
    ],
)
@pytest.mark.clause("SEC-1")
async def test_a_key_in_the_environment_comes_first_and_stays_there(
    environment: dict[str, str], provider: str, model: str, reference: str
) -> None:
    """The settings hold a reference; no server is asked."""
    found = await find_model(environment, ports=())
    assert (found.settings.provider, found.settings.model, found.settings.api_key) == (provider, model, reference)
    assert model in found.how
    assert not found.only_proves


async def test_without_key_and_server_the_embedded_model_is_told_for_what_it_is() -> None:
    """It proves the installation and is free of charge, and it is offered no tools."""
    found = await find_model({}, ports=())
    assert found.only_proves
    assert found.settings.provider == "embedded"
    assert found.settings.capabilities == ()
    assert found.settings.price is not None
    assert "only proves that the installation works" in found.how


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["nomic-embed-text:latest", "qwen3:8b"], "qwen3:8b"),
        (["text-embedding-bge-m3", "Whisper-large", "bge-reranker-v2", "kokoro-tts", "gemma"], "gemma"),
        (["all-minilm"], None),
        ([], None),
    ],
)
def test_the_first_model_that_chats_is_chosen(names: list[str], chosen: str | None) -> None:
    """Servers list models for embedding, speech and ranking too."""
    assert first_chat_model(names) == chosen
