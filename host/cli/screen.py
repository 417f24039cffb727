r"""The one edge between texts and a terminal: what a command shows people goes through here and nowhere else.

Texts come from models, tools, people and servers. To a terminal some of their characters are orders (erase the line
above, set the title, turn the direction of writing), by which a question could show another command than the one that
will run. So each of them is shown as an escape, `\x1b` or `\u202e` (APR-1). JSON is made elsewhere and stays exact.
Nothing above imports Rich.
"""

import re
import sys
import unicodedata
from collections.abc import Iterable
from typing import IO, Final, Self

from rich.console import Console, ConsoleOptions, RenderableType
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

Piece = str | tuple[str, str]
"""Words, or words and their style."""

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # controls, formats, surrogates, separators of lines
_KEPT: Final = "\n\t"
_PLAIN: Final = re.compile(r"[ -~\n\t]*")
_JOINER: Final = re.compile("(?<=[^\0-\x7f])[\u200c\u200d](?=[^\0-\x7f])")
_DRAWINGS_A_SECOND: Final = 12
_BYTE: Final = 0x100
_BASIC: Final = 0x10000


class _Shown(dict[int, str]):
    """What stands for each character, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        """Return the character, or the escape that stands for it."""
        character = chr(code)
        if character in _KEPT or unicodedata.category(character) not in _UNSEEN:
            shown = character
        elif character == "\r":
            shown = r"\r"
        else:
            shown = f"\\x{code:02x}" if code < _BYTE else f"\\u{code:04x}" if code < _BASIC else f"\\U{code:08x}"
        self[code] = shown
        return shown


_SHOWN: Final = _Shown()


def visible(text: str, *, joiners: bool = False) -> str:
    """Return `text` with every character that cannot be seen as an escape; newlines and tabs stay.

    `joiners` leaves those in place that belong to the writing, as in Persian or in signs made of several: for prose,
    where nothing hangs on each character.
    """
    if _PLAIN.fullmatch(text):
        return text
    if not joiners:
        return text.translate(_SHOWN)
    pieces, kept = _JOINER.split(text), _JOINER.findall(text)
    shown = [piece.translate(_SHOWN) for piece in pieces]
    return "".join(part for pair in zip(shown, [*kept, ""], strict=True) for part in pair)


def one_line(text: str, limit: int) -> str:
    """Return the beginning of `text` in one line, visible."""
    line = " ".join(visible(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


class _Edge(Console):
    """A console that looks at everything once more when it has become text: Markdown has entities for any character."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield segments that hold nothing unseen, but for Rich's own orders."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text, joiners=True), segment.style)


class Screen:
    """Standard output or standard error, for people."""

    def __init__(self, *, file: IO[str] | None = None, terminal: bool | None = None, width: int | None = None) -> None:
        """Print to `file`, by default standard output; `terminal` and `width` say what it is, if it cannot be asked."""
        self._console = _Edge(
            file=file or sys.stdout, force_terminal=terminal, width=width, highlight=False, soft_wrap=True
        )

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at it."""
        return self._console.is_terminal

    def line(self, *pieces: Piece, style: str = "") -> None:
        """Print a line, or several where the words have several."""
        self._console.print(_text(pieces, style))

    def table(self, columns: tuple[str, ...], rows: Iterable[tuple[Piece, ...]], empty: str) -> None:
        """Print rows under their columns, or `empty` when there are none."""
        grid = Table(*columns, box=None, header_style="bold", pad_edge=False)
        for row in rows:
            grid.add_row(*(_text((cell,), "") for cell in row))
        if grid.row_count:
            self._console.print(grid)
        else:
            self.line(empty)

    def rule(self, title: str) -> None:
        """Print a line across with a title."""
        self._console.rule(_text((title,), ""), align="left")

    def reply(self, text: str) -> None:
        """Print what a model says; as Markdown where a person looks, with each link's address beside its words."""
        shown = visible(text, joiners=True)
        self._console.print(Markdown(shown, hyperlinks=False) if self.is_terminal else Text(shown))

    def drawing(self) -> "Drawing":
        """Return a place at the foot of the terminal that is drawn over and over."""
        return Drawing(self._console)


class Drawing:
    """Text at the foot of a terminal that changes, and is taken away at the end. Use it as a context manager."""

    def __init__(self, console: Console) -> None:
        self._live = Live(Text(), console=console, transient=True, refresh_per_second=_DRAWINGS_A_SECOND)

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take it away."""
        self._live.stop()

    def show(self, text: str) -> None:
        """Draw `text` in place of what was there."""
        self._live.update(Text(visible(text, joiners=True), style="dim"))


def _text(pieces: Iterable[Piece], style: str) -> Text:
    """Return pieces as one text of Rich's, which would silently drop some of the characters that are shown here."""
    text = Text(style=style)
    for piece in pieces:
        words, own = (piece, "") if isinstance(piece, str) else piece
        text.append(visible(words), own)
    return text
