"""Replies as markup that can do nothing: Markdown to HTML, then everything not on a short list taken out (PAN-4).

Raw HTML in a reply stays text. Images are not loaded: an address in an image would tell a stranger what was read.
What is too long to be worth the time is shown as it was written.
"""

import asyncio
import functools
import html
from collections.abc import Callable
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

MARKUP_CHARS: Final = 200_000  # a longer reply is shown as plain text
THREAD_CHARS: Final = 8_000  # a longer one is rendered beside the event loop

_BLOCKS: Final = frozenset({"blockquote", "div", "h3", "h4", "hr", "li", "ol", "p", "pre", "ul"})
_TABLES: Final = frozenset({"table", "tbody", "td", "th", "thead", "tr"})
_WORDS: Final = frozenset({"a", "br", "code", "del", "em", "s", "strong"})
_ATTRIBUTES: Final = {"a": {"href", "title"}, "ol": {"start"}}
_SCHEMES: Final = frozenset({"http", "https", "mailto"})

_SCROLLS: Final = {"tabindex": "0"}  # what scrolls sideways must be reachable by keyboard

_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])


async def rendered(text: str) -> str:
    """Return `text` as clean markup."""
    if len(text) <= THREAD_CHARS:
        return render(text)
    return await asyncio.to_thread(render, text)


@functools.lru_cache(maxsize=256)
def render(text: str) -> str:
    """Return `text` as clean markup; pure."""
    if len(text) > MARKUP_CHARS:
        return f"<pre>{html.escape(text)}</pre>"
    return nh3.clean(
        _MARKDOWN.renderer.render(_below_the_page(_MARKDOWN.parse(text)), _MARKDOWN.options, {}),
        tags=set(_BLOCKS | _TABLES | _WORDS),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        url_schemes=set(_SCHEMES),
        url_relative="deny",  # a relative link would lead into the panel itself
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}, "pre": _SCROLLS, "div": _SCROLLS},
        allowed_classes={"div": {"wide"}},
    )


def _below_the_page(tokens: list[Token]) -> list[Token]:
    """Put a reply's headings below those of the page, and its tables into boxes that scroll."""
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = "h3" if token.tag in {"h1", "h2"} else "h4"
    return tokens


def _boxed(opening: str) -> Callable[..., str]:
    """Return a renderer's rule that writes a table's tag inside a box."""
    return lambda *_: '<div class="wide"><table>' if opening == "table_open" else "</table></div>"


for _rule in ("table_open", "table_close"):
    _MARKDOWN.add_render_rule(_rule, _boxed(_rule))
