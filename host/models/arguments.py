"""The arguments of a call as a model wrote them: read here, within bounds of depth and size, and nowhere else.

Gate, repetition and history all ask this module, so that what one of them refuses none of the others stumbles over.
Pure; it knows no tool and no schema.
"""

from typing import Any, Final, cast

import msgspec

DEEPEST: Final = 64  # levels; no tool's schema comes near, and everything that walks through them later can
_LEAST: Final = -(2**63)
_LARGEST: Final = 2**64 - 1  # with `_LEAST`: what the codecs of the journal and of the wire formats can hold

_encode: Final = msgspec.json.Encoder(order="sorted").encode


class UnreadableArguments(ValueError):
    """The text is no JSON object that a tool could take; says what is wrong with it, as the end of a sentence."""


def read_arguments(text: str) -> dict[str, Any]:
    """Return the arguments; no text at all counts as an empty object. Raise UnreadableArguments."""
    try:
        plain: object = msgspec.json.decode(text.strip() or "{}")
    except RecursionError as error:
        raise _too_deep() from error
    except (ValueError, OverflowError) as error:  # msgspec's own errors and those of Unicode are ValueErrors
        message = f"are no valid JSON ({error}). Send one JSON object."
        raise UnreadableArguments(message) from error
    if not isinstance(plain, dict):
        message = f"must be one JSON object, not {type(plain).__name__}."
        raise UnreadableArguments(message)
    arguments = cast("dict[str, Any]", plain)
    _check(arguments)
    return arguments


def canonical_arguments(arguments: dict[str, Any]) -> bytes:
    """Return what is equal for equal arguments that `read_arguments` gave, whatever their order and white space."""
    return _encode(arguments)


def _check(plain: object) -> None:
    """Raise UnreadableArguments where values are nested too deeply or numbers are too large; level by level."""
    level = [plain]
    for _ in range(DEEPEST):
        below: list[object] = []
        for value in level:
            match value:
                case dict():
                    below.extend(cast("dict[str, object]", value).values())
                case list():
                    below.extend(cast("list[object]", value))
                case int() if not _LEAST <= value <= _LARGEST:
                    message = "hold an integer that does not fit 64 bits. Send smaller numbers, or text."
                    raise UnreadableArguments(message)
                case _:
                    pass
        if not below:
            return
        level = below
    raise _too_deep()


def _too_deep() -> UnreadableArguments:
    return UnreadableArguments(f"are nested too deeply, in more than {DEEPEST} levels. Send one flat JSON object.")
