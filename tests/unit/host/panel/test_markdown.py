"""Replies become markup that can do nothing."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.panel.markdown import MARKUP_CHARS, render, rendered

pytestmark = pytest.mark.clause("PAN-4")

ALLOWED = re.compile(
    r"</?(a|blockquote|br|code|del|div|em|h3|h4|hr|li|ol|p|pre|s|strong|table|tbody|td|th|thead|tr|ul)(?=[\s>/])"
)


def test_what_people_write_looks_as_they_mean_it() -> None:
    """Emphasis, lists, code, tables, quotes and links come through."""
    html = render(
        "# A\n\n**b** *i* ~~s~~ `c`\n\n- one\n\n> q\n\n```sh\nls\n```\n\n|h|\n|-|\n|d|\n\n[l](https://e.org/)"
    )
    for part in ("<strong>b</strong>", "<em>i</em>", "<code>c</code>", "<li>one</li>", "<blockquote>", "<td>d</td>"):
        assert part in html
    assert '<a href="https://e.org/" target="_blank" rel="noopener noreferrer nofollow">l</a>' in html
    assert '<pre tabindex="0"><code>ls\n</code></pre>' in html


def test_headings_stay_below_those_of_the_page() -> None:
    """A reply cannot pretend to be the page's title, nor break its outline."""
    assert render("# a") == "<h3>a</h3>\n"
    assert render("###### a") == "<h4>a</h4>\n"


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt&colon;alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](vbscript:msgbox(1))",
        "<a href='https://e.org' onclick='alert(1)'>x</a>",
        "![x](https://evil.example/?stolen)",
        '[x](https://e.org/"onmouseover="alert(1))',
        "<svg><style><img src=x onerror=alert(1)></style></svg>",
        "<math><mi//xlink:href='data:x,<script>alert(4)</script>'>",
        "<form action=/sign-out><button>x</button></form>",
        "<iframe src=/></iframe><object data=/></object>",
        "[x](/sign-out)",
        "[x](//evil.example/)",
    ],
)
def test_hostile_markup_is_text_or_gone(hostile: str) -> None:
    """No element, attribute or address beyond the list is left."""
    html = render(hostile)
    for tag in re.findall(r"<[^>]*>", html):
        assert ALLOWED.match(tag), tag
        assert not re.search(r"\son|\sstyle|\ssrc|javascript|data:", tag, re.IGNORECASE), tag
        assert "href" not in tag or re.search(r'href="(https?|mailto):', tag), tag


@given(st.text(alphabet="<>&\"'`*_#[]()!|-\n abcjs:/=", max_size=300))
def test_no_text_becomes_more_than_the_list_allows(text: str) -> None:
    """Whatever is written: only listed elements, no handlers, no styles."""
    for tag in re.findall(r"<[^>]*>", render(text)):
        assert ALLOWED.match(tag)
        assert " on" not in tag
        assert " style" not in tag


async def test_a_reply_too_long_for_markup_is_shown_as_it_is() -> None:
    """Length alone never holds a page up, and nothing is lost."""
    text = "<b>" * (MARKUP_CHARS // 3 + 1)
    assert await rendered(text) == "<pre>" + "&lt;b&gt;" * (MARKUP_CHARS // 3 + 1) + "</pre>"


@pytest.mark.parametrize("text", ["[" * 20_000, "*a " * 20_000, "> " * 5_000, "`" * 20_001 + "a", "|a" * 10_000])
def test_nasty_text_takes_no_hostile_time(text: str) -> None:
    """The known worst cases of Markdown stay within seconds on a busy machine."""
    begun = time.process_time()
    render(text)
    assert time.process_time() - begun < 5
