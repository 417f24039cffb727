"""Long texts of plain commands, each said once: what repeats is judged once.

Only where a text has no quote, expansion, redirection, bracket, comment or keyword is it enough to know the separators;
any other text is left to the parser as it is. Order matters to what changes the folder, so such texts are left too.
"""

import re
from typing import Final

LONG: Final = 16 * 1024  # bytes; below, parsing is quicker than this is worth
_PLAIN: Final = re.compile(rb"[A-Za-z0-9_./:,@%+= \t\n;|&-]*")
_KEYWORD: Final = re.compile(
    rb"(?<![\w./:,@%+=-])(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|in|coproc|time|cd|pushd"
    rb"|popd|set|alias)(?![\w./:,@%+=-])|\|&|&[|;]|;;",
)
_CONTINUED: Final = re.compile(rb"(\||&&)[ \t]*\n\s*")
_FEW: Final = 4  # stages, too few to shorten
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
