"""Replies as markup that can do nothing: Markdown to HTML, then everything not on a short list taken out (PAN-4).

Raw HTML in a reply stays text. Images are not loaded: an address in an image would tell a stranger what was read.
What is too long to be worth the time is shown as it was written.
"""

import asyncio
import functools
import html
from typing import Final

import nh3
from markdown_it import MarkdownIt

MARKUP_CHARS: Final = 200_000  # a longer reply is shown as plain text
THREAD_CHARS: Final = 8_000  # a longer one is rendered beside the event loop

_BLOCKS: Final = frozenset({"blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "ul"})
_TABLES: Final = frozenset({"table", "tbody", "td", "th", "thead", "tr"})
_WORDS: Final = frozenset({"a", "br", "code", "del", "em", "s", "strong"})
_ATTRIBUTES: Final = {"a": {"href", "title"}, "ol": {"start"}}
_SCHEMES: Final = frozenset({"http", "https", "mailto"})

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
        _MARKDOWN.render(text),
        tags=set(_BLOCKS | _TABLES | _WORDS),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        url_schemes=set(_SCHEMES),
        url_relative="deny",  # a relative link would lead into the panel itself
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
