"""The scripted model alone: `python -m tests.scripted_model --script FILE.json [--port N] [--log FILE.jsonl]`.

Prints its base URL as the first line of stdout, then serves until SIGTERM or SIGINT. The log gets one JSON line for
each inference asked for: {"path", "headers", "body"}. How a script file looks: the docstring of script_file.py.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.scripted_model.script_file import server_of
from tests.scripted_model.server import Received

_STOPPING = {signal.SIGTERM, signal.SIGINT}


def _append(log: Path, request: Received) -> None:
    line = msgspec.json.encode({"path": request.path, "headers": request.headers, "body": request.json})
    with log.open("ab") as file:
        file.write(line + b"\n")


def main(arguments: Sequence[str]) -> None:
    """Serve a script file until a signal comes."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.scripted_model", description="A model that follows a script."
    )
    parser.add_argument("--script", type=Path, required=True, help="JSON file; its form: script_file.py")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--log", type=Path, help="append each request to this file, a JSON line each")
    options = parser.parse_args(arguments)
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)  # before the thread starts: it must not take them either
    server = server_of(options.script, options.port)
    log: Path | None = options.log
    if log is not None:
        server.log = lambda request: _append(log, request)
    with server:
        sys.stdout.write(server.base_url + "\n")
        sys.stdout.flush()
        signal.sigwait(_STOPPING)


if __name__ == "__main__":
    main(sys.argv[1:])
