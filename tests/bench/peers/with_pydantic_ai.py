"""The same turn with pydantic-ai: an agent with one tool over chat completions."""

# pyright: basic, reportMissingImports=false
# mypy: ignore-errors
# The peers live in an environment of their own, where no type checker looks.

import sys
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.bench.peers.worker import INSTRUCTIONS, READ_FILE, TASK, serve


def main() -> None:
    """Serve turns."""
    base_url, model_name, folder = sys.argv[1:]
    workspace = Path(folder)
    model = OpenAIChatModel(model_name, provider=OpenAIProvider(base_url=base_url, api_key="none"))
    agent = Agent(model, instructions=INSTRUCTIONS)

    @agent.tool_plain(description=READ_FILE)
    async def read_file(path: str) -> str:
        return (workspace / path).read_text(encoding="utf-8")

    async def turn() -> str:
        return (await agent.run(TASK)).output

    serve(turn)


if __name__ == "__main__":
    main()
