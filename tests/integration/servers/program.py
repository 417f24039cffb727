"""A tool server in plain Python, as an odd program may be: what it does stands in its first argument, a JSON object.

It runs in the sandbox, by the system's own Python; it imports nothing but the standard library.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ANY = {"type": "object"}


def main() -> None:
    """Answer until the input ends."""
    script = json.loads(sys.argv[1])
    if script.get("stderr"):
        sys.stderr.write(script["stderr"] + "\n")
        sys.stderr.flush()
    for stray in script.get("strays", []):
        sys.stdout.write(stray + "\n")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            answer(script, message)


def answer(script: dict[str, Any], message: dict[str, Any]) -> None:
    """Answer one request."""
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            told = {"protocolVersion": version, "serverInfo": {"name": "s", "version": "1"}}
            say(message, {**told, "capabilities": {"tools": {}}})
        case "tools/list":
            listed = Path(script["list_from"]).read_text() if "list_from" in script else ""
            say(message, {"tools": json.loads(listed) if listed else script.get("tools", TOOLS)})
        case "tools/call":
            call(message, message["params"]["name"], message["params"].get("arguments") or {})
        case _:
            error = {"code": -32601, "message": "no such method"}
            write({"jsonrpc": "2.0", "id": message["id"], "error": error})


def call(message: dict[str, Any], name: str, given: dict[str, Any]) -> None:
    """Do what a tool does."""
    match name:
        case "echo":
            text(message, given["text"])
        case "run":
            command = ["/bin/sh", "-c", given["command"]]  # what the tests look about with
            text(message, subprocess.run(command, capture_output=True, text=True, check=False).stdout)
        case "fail":
            say(message, {"content": [{"type": "text", "text": "it is broken"}], "isError": True})
        case "crash":
            sys.stderr.write("about to end\n")
            sys.stderr.flush()
            os._exit(3)
        case "late":  # hears no cancellation: it has its effect whatever is said meanwhile
            Path(given["begun"]).touch()
            while not Path(given["go"]).exists():
                time.sleep(0.01)
            Path(given["done"]).touch()
            text(message, "done")
        case "much":
            text(message, "x" * given["count"])
        case "flood":
            sys.stdout.write("y" * (9 << 20) + "\n")
            sys.stdout.flush()
        case "picture":
            data = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
            say(message, {"content": [{"type": "text", "text": "look"}, data]})
        case "raw":  # a result as it stands, or an error
            kind = "error" if given.get("error") else "result"
            sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {json.dumps(message["id"])}, "{kind}": {given["text"]}}}\n')
            sys.stdout.flush()
        case "stderr":
            sys.stderr.write(given["text"] + "\n")
            sys.stderr.flush()
            text(message, "said")
        case _:
            error = {"code": -32602, "message": f"no tool {name}"}
            write({"jsonrpc": "2.0", "id": message["id"], "error": error})


def text(message: dict[str, Any], words: str) -> None:
    """Answer with text."""
    say(message, {"content": [{"type": "text", "text": words}]})


def say(message: dict[str, Any], result: dict[str, Any]) -> None:
    """Answer with a result."""
    write({"jsonrpc": "2.0", "id": message["id"], "result": result})


def write(message: dict[str, Any]) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


TOOLS: list[dict[str, Any]] = [
    {
        "name": "echo",
        "description": "Says it again.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "maxLength": 100}},
            "required": ["text"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True},
    },
    *(
        {"name": name, "description": f"Does {name}.", "inputSchema": ANY}
        for name in ("run", "fail", "crash", "late", "much", "flood", "picture", "stderr", "raw")
    ),
]

if __name__ == "__main__":
    main()
