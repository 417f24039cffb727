"""MCP over the pipes of a process: one message a line, in the streams that the SDK's session takes.

The SDK's own stdio client starts the process by itself, bare; ours runs in a sandbox, and what it says is bounded. A
line that is no message is told to whoever listens and passed over, as programs that print into their output are common.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Callable
from typing import Final

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from host.excerpts import beginning

LINE_BYTES: Final = 8 << 20  # of one message; an image in a result fits
_STRAY_LINES: Final = 1000  # that are no messages; a program that prints more says nothing else

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@contextlib.asynccontextmanager
async def streams(
    reading: int, writing: int, stray: Callable[[str], None], ended: Callable[[], None]
) -> AsyncGenerator[tuple[Incoming, Outgoing]]:
    """Carry messages over two descriptors, which are closed at the end.

    `stray` hears of lines that are no messages; `ended` is called when no more are read.
    """
    incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_BYTES)
    source, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", buffering=0)
    )
    sink, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(writing, "wb", buffering=0)
    )
    writer = asyncio.StreamWriter(sink, protocol, None, loop)
    try:
        async with incoming, read_stream, write_stream, outgoing, anyio.create_task_group() as tasks:
            tasks.start_soon(_read, reader, incoming, stray, ended)
            tasks.start_soon(_write, writer, outgoing, incoming)
            try:
                yield read_stream, write_stream
            finally:
                tasks.cancel_scope.cancel()
    finally:
        source.close()
        sink.abort()


async def _read(
    reader: asyncio.StreamReader,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    stray: Callable[[str], None],
    ended: Callable[[], None],
) -> None:
    """Hand on messages until the process ends, or says what no server would."""
    strays = 0
    async with incoming:
        with (
            contextlib.ExitStack() as closing,
            contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError),
        ):
            closing.callback(ended)
            while strays < _STRAY_LINES:
                try:
                    line = await reader.readuntil(b"\n")
                except asyncio.IncompleteReadError:
                    return
                except asyncio.LimitOverrunError:
                    stray(f"it sent a message of more than {LINE_BYTES >> 20} MiB, and was ended")
                    return
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except (ValidationError, ValueError):
                    strays += 1
                    stray(f"no message: {beginning(line.decode(errors='replace').rstrip(), 200)}")
                    continue
                await incoming.send(SessionMessage(message))
            stray(f"it printed {strays} lines that are no messages, and was ended")


async def _write(
    writer: asyncio.StreamWriter,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async with outgoing:
            async for message in outgoing:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    writer.write(line.encode() + b"\n")
                    await writer.drain()
                except OSError:
                    await incoming.aclose()  # it does not listen any more: nobody waits for its answer
                    return
