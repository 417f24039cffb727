"""The agent at the far end of a connection: it opens the root, answers requests, and ends with the connection.

It hears requests on its standard input and answers on its standard output, each in a thread of its own. When the input
ends, or nothing was heard for as long as the other end said, it ends; its children see that by the close of their own
inputs and end all that they started.
"""

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from host.errors import ElisError, ToolFailed
from host.tools.far.children import Children
from host.tools.far.jobs import Job, Stopped
from host.tools.far.operations import Operations, Refused
from host.tools.far.parentage import adopt_orphans
from host.tools.far.wire import MAGIC, Garbled, Message, packed, received
from host.tools.jail import Jail
from host.tools.names import escaped

_PART: Final = 1 << 16
_LOOKS: Final = 4  # at the silence, in the time that it may last


def main() -> None:
    """Serve one connection."""
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # nothing but messages goes to the other end
    output.write(MAGIC)
    try:
        _Agent(output).serve()
    except (Garbled, OSError) as error:
        sys.stderr.write(f"elis: {error}\n")
    finally:
        os._exit(0)


class _Agent:
    """Takes requests until there are no more."""

    def __init__(self, output: Any) -> None:  # noqa: ANN401 - a raw file
        self._output = output
        self._input: Any = sys.stdin.buffer  # a buffered reader, whatever the type says
        self._writing = threading.Lock()
        self._heard = time.monotonic()
        self._jobs: dict[int, Job] = {}
        self._operations: Operations | None = None

    def serve(self) -> None:
        first = received(self._read)
        if first is None or not self._begin(first[0]):
            return
        while (said := received(self._read)) is not None:
            self._take(*said)

    def _read(self, size: int) -> bytes:
        """Return the next `size` bytes, fewer only at the end; every part of them is a sign of life."""
        parts = bytearray()
        while len(parts) < size and (part := self._input.read1(min(size - len(parts), _PART))):
            parts += part
            self._heard = time.monotonic()
        return bytes(parts)

    def _begin(self, settings: Message) -> bool:
        """Open the root and say so; return whether that went well."""
        python = ".".join(map(str, sys.version_info[:3]))
        try:
            jail = Jail.open(Path(settings["root"]), {})
            adopt_orphans()
        except (ElisError, OSError) as error:
            self._send({"hello": False, "why": str(error), "python": python})
            return False
        children = Children(settings["mark"])
        children.end_leftovers()
        self._operations = Operations(jail, children)
        for work in (self._listen, self._beat):
            threading.Thread(target=work, args=(settings["silence_seconds"],), daemon=True).start()
        self._send({"hello": True, "root": jail.roots[0].real_path(), "python": python, "user": os.getuid()})
        return True

    def _listen(self, silence_seconds: float) -> None:
        """End everything when the other end has fallen silent: a link that was cut does not always say so."""
        while time.monotonic() - self._heard < silence_seconds:
            time.sleep(silence_seconds / _LOOKS)
        os._exit(0)

    def _beat(self, silence_seconds: float) -> None:
        """Give signs of life: a line by which nothing comes is cut, one that is only slow is not."""
        while True:
            time.sleep(silence_seconds / _LOOKS)
            self._send({"op": "beat"})

    def _take(self, message: Message, data: bytes) -> None:
        number = message.get("id")
        match message.get("op"):
            case None | "ping":
                return
            case "stop":
                if (job := self._jobs.get(number or 0)) is not None:
                    job.stop()
            case "heard":
                if (job := self._jobs.get(number or 0)) is not None:
                    job.heard()
            case "answer":
                if (job := self._jobs.get(number or 0)) is not None:
                    job.answered(message)
            case op:
                job = self._jobs[int(message["id"])] = Job(int(message["id"]), self._send)
                threading.Thread(target=self._work, args=(job, str(op), message["asked"], data), daemon=True).start()

    def _work(self, job: Job, op: str, asked: Message, data: bytes) -> None:
        try:
            answer, data = self._done(job, op, asked, data)
        except Stopped:
            answer, data = {"failed": "Stopped", "why": ""}, b""
        except Refused:
            answer, data = {"failed": "Refused", "why": ""}, b""
        except ElisError as error:
            answer, data = {"failed": type(error).__name__, "why": escaped(error.message)}, b""
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            answer, data = {"failed": ToolFailed.__name__, "why": escaped(f"{type(error).__name__}: {error}")}, b""
        self._jobs.pop(job.number, None)
        self._send({"id": job.number, "answer": answer}, data)

    def _done(self, job: Job, op: str, asked: Message, data: bytes) -> tuple[Message, bytes]:
        assert self._operations is not None  # noqa: S101 - requests are taken after the beginning
        if op != "keep_end":  # which cleans up
            job.breathe()
        return self._operations.all[op](job, asked, data)

    def _send(self, message: Message, data: bytes = b"") -> None:
        text = memoryview(packed(message, data))
        with self._writing:
            while text:
                text = text[self._output.write(text) :]
