"""The same turn with LangGraph: LangChain's agent on its graph, with `--checkpoints FILE` its SQLite checkpointer."""

# pyright: basic, reportMissingImports=false
# mypy: ignore-errors
# The peers live in an environment of their own, where no type checker looks.

import argparse
import contextlib
import itertools
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.bench.peers.worker import INSTRUCTIONS, READ_FILE, STEPS, TASK, serve


def main() -> None:
    """Serve turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base_url")
    parser.add_argument("model")
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--checkpoints", type=Path)
    options = parser.parse_args()
    threads = itertools.count()

    @tool(description=READ_FILE)
    async def read_file(path: str) -> str:
        return (options.workspace / path).read_text(encoding="utf-8")

    model = ChatOpenAI(model=options.model, base_url=options.base_url, api_key="none")

    async def turn() -> str:
        async with contextlib.AsyncExitStack() as stack:
            saver = None
            if options.checkpoints:
                saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(options.checkpoints)))
            agent = create_agent(model, [read_file], system_prompt=INSTRUCTIONS, checkpointer=saver)
            config = {"recursion_limit": 4 * STEPS, "configurable": {"thread_id": f"thread-{next(threads)}"}}
            state = await agent.ainvoke({"messages": [{"role": "user", "content": TASK}]}, config)
            return state["messages"][-1].content

    serve(turn)


if __name__ == "__main__":
    main()
