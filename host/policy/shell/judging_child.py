"""The child process in which shell texts are judged, one after the other, for as long as its parent lives (POL-5).

The parser is a library in C that reads foreign text: here it can hold or end this process only. Over the socket that
the first argument names a text comes in and its analysis goes out, each as four bytes of length and a body; the end of
input is the end. It imports what judging needs and nothing more, and ends by itself where a text takes too long and
nobody is there to end it.
"""

import ctypes
import os
import resource
import signal
import sys
from typing import Final

import msgspec

from host.policy.shell.analysis import analyse

LENGTH_BYTES: Final = 4
_MEMORY_BYTES: Final = 1 << 30  # of addresses; a text of 256 KiB needs a tenth of it
_PARENT_DIES: Final = 1  # PR_SET_PDEATHSIG


def main() -> None:
    """Serve; the arguments are the socket, the parent's process id, and the seconds after which a text ends it all."""
    descriptor, parent, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    ctypes.CDLL(None).prctl(_PARENT_DIES, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        return  # it died before that was asked for
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    encode = msgspec.msgpack.Encoder().encode
    with os.fdopen(os.dup(descriptor), "rb") as given, os.fdopen(descriptor, "wb") as told:
        told.write(framed(b""))  # it is ready
        told.flush()
        while length := given.read(LENGTH_BYTES):
            text = given.read(int.from_bytes(length)).decode()
            signal.setitimer(signal.ITIMER_REAL, seconds)  # its signal ends a process that does not ask for it
            told.write(framed(encode(analyse(text))))
            signal.setitimer(signal.ITIMER_REAL, 0)
            told.flush()


def framed(body: bytes) -> bytes:
    """Return a body with its length before it."""
    return len(body).to_bytes(LENGTH_BYTES) + body


if __name__ == "__main__":
    main()
