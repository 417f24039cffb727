"""The same turn with openai-agents: an agent with one tool over chat completions, tracing off."""

# pyright: basic, reportMissingImports=false
# mypy: ignore-errors
# The peers live in an environment of their own, where no type checker looks.

import sys
from pathlib import Path

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from tests.bench.peers.worker import INSTRUCTIONS, READ_FILE, STEPS, TASK, serve


def main() -> None:
    """Serve turns."""
    base_url, model_name, folder = sys.argv[1:]
    workspace = Path(folder)
    set_tracing_disabled(disabled=True)

    @function_tool(description_override=READ_FILE)
    async def read_file(path: str) -> str:
        return (workspace / path).read_text(encoding="utf-8")

    client = AsyncOpenAI(base_url=base_url, api_key="none")
    model = OpenAIChatCompletionsModel(model=model_name, openai_client=client)
    agent = Agent(name="reader", instructions=INSTRUCTIONS, model=model, tools=[read_file])

    async def turn() -> str:
        return str((await Runner.run(agent, TASK, max_turns=STEPS + 1)).final_output)

    serve(turn)


if __name__ == "__main__":
    main()
