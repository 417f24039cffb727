"""Long work cut into steps, so that whoever does it may breathe between them.

A lane's loop lets others run after each step; where nobody else waits, the steps are simply taken. Imports nothing but
the standard library, because the far end of a connection uses it too.
"""

from collections.abc import Callable, Generator
from typing import TypeVar

T = TypeVar("T")
Steps = Generator[None, None, T]
"""Work that pauses at each `yield`, and returns its outcome."""


def taken(steps: Steps[T], between: Callable[[], None]) -> T:
    """Take all steps in a row; `between` is called between them, and may raise to end it."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            outcome: T = done.value
            return outcome
        between()
