"""The text of a call's arguments without secret values: JSON stays JSON, and what needs no change stays as it was.

Masked as mere text such an object could fall apart: a value may stand over a name and its quotes, or in a number's
place. So its strings are masked one by one. Used where a model's reply comes in, where its past is told to it again,
and where its reply is written down; all three give the same text for the same call.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import msgspec

_encode: Final = msgspec.json.Encoder(order="sorted").encode


def masked_arguments(text: str, mask: Callable[[Any], Any]) -> str:
    """Return `text` with `mask` over every string in it, and over numbers; a number that changes becomes a string.

    `mask` takes plain data and returns it without secret values. What is no JSON is masked as the text that it is.
    """
    try:
        plain: object = msgspec.json.decode(text)
        numbers: list[str] = []
        _gather(plain, numbers)
        given: list[object] = [plain, numbers]
        masked: list[object] = mask(given)
        if masked == given:
            return text
        shown = _filled(masked[0], iter(zip(numbers, cast("list[str]", masked[1]), strict=True)))
        return _encode(shown).decode()
    except (ValueError, OverflowError, RecursionError):  # msgspec's own errors and those of Unicode are ValueErrors
        return cast("str", mask(text))


def _gather(plain: object, numbers: list[str]) -> None:
    """Collect all numbers as they are written, in the order of `_filled`."""
    match plain:
        case dict():
            for value in cast("dict[str, object]", plain).values():
                _gather(value, numbers)
        case list():
            for value in cast("list[object]", plain):
                _gather(value, numbers)
        case int() | float() if not isinstance(plain, bool):
            numbers.append(_encode(plain).decode())
        case _:
            pass


def _filled(plain: object, numbers: Iterator[tuple[str, str]]) -> object:
    """Return `plain` with those numbers as strings that were changed; a mask keeps the order of fields."""
    match plain:
        case dict():
            return {name: _filled(value, numbers) for name, value in cast("dict[str, object]", plain).items()}
        case list():
            return [_filled(value, numbers) for value in cast("list[object]", plain)]
        case int() | float() if not isinstance(plain, bool):
            before, after = next(numbers)
            return plain if before == after else after
        case _:
            return plain
