"""Structured logs of the host's processes: JSON lines in a file that rotates, a readable line on standard error.

Nothing is pushed anywhere. What is logged passes through the masking function that the caller gives; records of
libraries come through the same pipe. Below it only structlog and the standard library. (OPS-6, MASK-1.)
"""

import logging
import logging.handlers
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

LARGEST_BYTES: Final = 5_000_000  # a file that an editor still opens
KEPT_FILES: Final = 5

Mask = Callable[[Any], Any]
"""Takes plain data (dictionaries, lists, strings) and returns it without secret values."""

_QUIET: Final = ("httpx2", "httpcore2", "uvicorn", "asyncio", "ray")  # their routine says nothing about the host


def configure(file: Path, mask: Mask | None = None, *, level: int = logging.INFO, human: bool = True) -> None:
    """Log to `file` from now on, and to standard error if `human`; a second call replaces the first.

    A log that cannot be written must not stop a host: then only standard error is used, and says so.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        _Masking(mask),
    ]
    handlers: list[logging.Handler] = []
    problem = ""
    try:
        handlers.append(_file_handler(file, shared))
    except OSError as error:
        problem = f"{file} cannot be written ({error.strerror}); mend its rights or make room"
    if human or problem:
        handlers.append(_human_handler(shared))
    root = logging.getLogger()
    for handler in list(root.handlers):
        if isinstance(handler.formatter, structlog.stdlib.ProcessorFormatter):
            root.removeHandler(handler)
            handler.close()
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared[:-1],  # the handlers' formatters mask, once for all
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,  # a module's logger may be older than this call
    )
    if problem:
        logging.getLogger(__name__).error(problem)


class _Masking:
    """A processor that masks everything that was said, but for the names of the fields."""

    def __init__(self, mask: Mask | None) -> None:
        self._mask = mask

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        if self._mask is None:
            return event
        plain = {name: _plain(value) for name, value in event.items() if not name.startswith("_")}
        internal = {name: value for name, value in event.items() if name.startswith("_")}
        return {**cast("dict[str, Any]", self._mask(plain)), **internal}


def _plain(value: object) -> object:
    """Return `value` as data that can be masked: what is no container, number or text is told by its text."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case dict():
            return {str(name): _plain(inner) for name, inner in cast("dict[object, object]", value).items()}
        case list() | tuple():
            return [_plain(inner) for inner in cast("list[object]", value)]
        case _:
            return str(value)


def _formatter(renderer: Processor, shared: list[Processor]) -> structlog.stdlib.ProcessorFormatter:
    """Return a formatter that masks as its last step before `renderer`, whoever logged."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared[:-1],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, shared[-1], renderer],
    )


def _file_handler(file: Path, shared: list[Processor]) -> logging.Handler:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    handler = logging.handlers.RotatingFileHandler(
        file, maxBytes=LARGEST_BYTES, backupCount=KEPT_FILES, encoding="utf-8"
    )
    handler.setFormatter(_formatter(structlog.processors.JSONRenderer(ensure_ascii=False), shared))
    return handler


def _human_handler(shared: list[Processor]) -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    colours = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    handler.setFormatter(
        _formatter(
            structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=structlog.dev.plain_traceback), shared
        )
    )
    return handler
