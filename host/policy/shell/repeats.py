"""Repetition: long texts of plain commands, each said once, and functions that start themselves without end.

Only where a text has no quote, expansion, redirection, bracket, comment or keyword is it enough to know the separators;
any other text is left to the parser as it is. Order matters to what changes the folder, so such texts are left too.
"""

import re
from collections.abc import Mapping
from typing import Final

LONG: Final = 16 * 1024  # bytes; below, parsing is quicker than this is worth
_PLAIN: Final = re.compile(rb"[A-Za-z0-9_./:,@%+= \t\n;|&-]*")
_KEYWORD: Final = re.compile(
    rb"(?<![\w./:,@%+=-])(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|in|coproc|time|cd|pushd"
    rb"|popd|set|alias)(?![\w./:,@%+=-])|\|&|&[|;]|;;",
)
_CONTINUED: Final = re.compile(rb"(\||&&)[ \t]*\n\s*")
_FEW: Final = 4  # stages, too few to shorten
_FORK: Final = re.compile(rb"(?<![&>])&(?![&>])|\|")
_MOST_BODIES: Final = 2_000_000  # bytes of all functions of a text together
_SEPARATOR: Final = re.compile(rb"[;\n]|&&|\|\||&")


def condensed(source: bytes) -> bytes:
    """Return a text with the same commands, or the same text."""
    if len(source) < LONG or not _PLAIN.fullmatch(source) or _KEYWORD.search(source):
        return source
    pipelines = dict.fromkeys(each.strip() for each in _SEPARATOR.split(_CONTINUED.sub(rb"\1 ", source)))
    return b"\n".join(_shortened(each) for each in pipelines if each)


def _shortened(pipeline: bytes) -> bytes:
    """Leave the first and the last of equal stages: what could reach a stage still stands before it."""
    stages = [stage.strip() for stage in pipeline.split(b"|")]
    if len(stages) < _FEW or b"" in stages:
        return pipeline
    last = {stage: at for at, stage in enumerate(stages)}
    first = {stage: at for at, stage in reversed(list(enumerate(stages)))}
    return b" | ".join(stages[at] for at in sorted({*first.values(), *last.values()}))


def forks(functions: Mapping[str, bytes]) -> bool | None:
    """Whether a function of those bodies calls itself more than once, at the same time (a fork bomb).

    None: they lie too deep in one another to be looked at, as each body holds the ones within it.
    """
    if sum(map(len, functions.values())) > _MOST_BODIES:
        return None
    for key, body in functions.items():
        name = key.partition("\0")[0]
        calls = re.findall(rb"(?<![\w./-])" + re.escape(name.encode()) + rb"(?![\w./-])", body) if name else []
        if len(calls) > 1 and _FORK.search(body):
            return True
    return False
