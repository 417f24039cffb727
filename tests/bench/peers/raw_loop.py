"""The floor: a bare loop over httpx2 with hand-written bodies, no framework.

`--stream` lets the reply come in pieces, as Elis needs it for the person who waits; `--commits FILE` adds what any
write-ahead journal must do at the least: four fsynced commits of raw SQLite a step.
"""

import argparse
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx2

from tests.bench.peers.worker import INSTRUCTIONS, READ_FILE, TASK, serve

COMMITS: Final = 4  # request sent, response received, call started, call finished (turns.md TURN-2)
TOOLS: Final = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": READ_FILE,
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
]


class Loop:
    """The loop of one contender."""

    def __init__(self, options: argparse.Namespace, commit: Callable[[], None]) -> None:
        self._client = httpx2.AsyncClient(trust_env=False)
        self._url = f"{options.base_url}/chat/completions"
        self._model = options.model
        self._workspace: Path = options.workspace
        self._infer = self._streamed if options.stream else self._whole
        self._commit = commit

    async def turn(self) -> str:
        """Run one turn and return the final reply."""
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": TASK},
        ]
        while True:
            self._commit()
            reply = await self._infer({"model": self._model, "messages": messages, "tools": TOOLS})
            self._commit()
            messages.append(reply)
            if not reply.get("tool_calls"):
                return str(reply["content"])
            for call in reply["tool_calls"]:
                self._commit()
                path = json.loads(call["function"]["arguments"])["path"]
                text = (self._workspace / path).read_text(encoding="utf-8")
                self._commit()
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})

    async def _whole(self, body: dict[str, Any]) -> dict[str, Any]:
        response = await self._client.post(self._url, json=body)
        response.raise_for_status()
        message: dict[str, Any] = response.json()["choices"][0]["message"]
        return message

    async def _streamed(self, body: dict[str, Any]) -> dict[str, Any]:
        text, calls = "", dict[int, dict[str, Any]]()
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        async with self._client.stream("POST", self._url, json=body) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                data = line.removeprefix("data: ")
                if not data or data == "[DONE]":
                    continue
                for choice in json.loads(data)["choices"]:
                    text += choice["delta"].get("content") or ""
                    for piece in choice["delta"].get("tool_calls", ()):
                        _join(calls, piece)
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        return message | {"tool_calls": list(calls.values())} if calls else message


def _join(calls: dict[int, dict[str, Any]], piece: dict[str, Any]) -> None:
    call = calls.get(piece["index"])
    if call is None:
        calls[piece["index"]] = {key: value for key, value in piece.items() if key != "index"}
    else:
        call["function"]["arguments"] += piece["function"]["arguments"]


def committer(path: Path) -> Callable[[], None]:
    """Return a function that makes one small row durable."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE raw (seq INTEGER PRIMARY KEY, body BLOB NOT NULL)")
    body = b"x" * 300  # about what an event of a step holds

    def commit() -> None:
        db.execute("INSERT INTO raw (body) VALUES (?)", (body,))

    return commit


def nothing() -> None:
    """Commit nothing."""


def main() -> None:
    """Serve turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base_url")
    parser.add_argument("model")
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--commits", type=Path)
    options = parser.parse_args()
    serve(Loop(options, committer(options.commits) if options.commits else nothing).turn)


if __name__ == "__main__":
    main()
