"""Properties of the settings' loader: whatever stands in the file, it is accepted or refused by name."""

import math
from pathlib import Path
from typing import Any, Final

import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from host.config.load import parse
from host.errors import ElisError

HOME: Final = Path("/nonexistent/home")
NOWHERE: Final = Path("/nonexistent/policy.toml")
TEXTS: Final = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        (
            *("", "~", "~nobodyx/k", "/", ".", "..", "\0", "/a\0b", "file:", "file:~nobodyx/k", "file:\0", "env:"),
            *("http://[", "http://h:99999/", "http://[::1", "127.0.0.1:99999", "[::1]:0", "[:1", "::", "a@b:1"),
            *("inf", "main", "embedded", "openai", "read", "ask", "/" + "x/" * 3000, "x" * 5000, "\x1b[2J", "\ud7ff"),
        )
    ),
)
NUMBERS: Final = st.one_of(
    st.integers(),
    st.sampled_from([0, -1, 2**63, -(2**63) - 1, 10**400]),
    st.floats(),
    st.sampled_from([math.inf, math.nan, -0.0, 1e308, 5e-324, 0.5]),
)
ANYTHING: Final = st.recursive(
    st.one_of(TEXTS, NUMBERS, st.booleans(), st.datetimes(), st.dates(), st.times()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=5,
)

_TABLES: Final[dict[str, tuple[str, ...]]] = {
    "host": ("name", "listen", "default_group", "tls_certificate", "tls_key", "proxy_url"),
    "models": ("provider", "base_url", "model", "api_key", "context_tokens", "output_tokens", "capabilities", "price"),
    "groups": ("model", "aux_model", "timezone", "stop_words", "guard", "folders", "budget", "daily", "policy"),
    "secrets": ("ref", "tools", "hosts"),
}
_MORE: Final = ("approvals", "sandbox", "lanes", "a2a", "browser")
_INNER: Final = (
    "tokens",
    "cost_usd",
    "seconds",
    "steps",
    "input",
    "output",
    "cache_read",
    "timeout_seconds",
    "backend",
)
_DEEPER: Final = ("path", "mode", "queue", "subagents", "background", "read", "shell", "everything", "network")


def _table(keys: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    inner = st.dictionaries(st.sampled_from(_INNER + _DEEPER), ANYTHING, max_size=3)
    deeper = st.dictionaries(st.one_of(st.just("docs"), TEXTS), inner, max_size=2)
    return st.dictionaries(st.sampled_from(keys), st.one_of(ANYTHING, inner, deeper), max_size=4)


DOCUMENTS: Final = st.fixed_dictionaries(
    {},
    optional={
        "host": st.one_of(_table(_TABLES["host"]), ANYTHING),
        "models": st.one_of(st.dictionaries(st.one_of(st.just("main"), TEXTS), _table(_TABLES["models"]), max_size=2)),
        "groups": st.dictionaries(st.one_of(st.just("main"), TEXTS), _table(_TABLES["groups"] + _MORE), max_size=2),
        "secrets": st.dictionaries(TEXTS, _table(_TABLES["secrets"]), max_size=2),
    },
)


def _refused_or_read(data: bytes) -> str:
    try:
        parse(data, HOME / "elis.toml", ("shell", "read_file"), administrator=NOWHERE)
    except ElisError as error:
        return error.message
    return ""


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(DOCUMENTS)
def test_any_values_under_the_known_keys_are_accepted_or_refused_by_name(document: dict[str, Any]) -> None:
    """Nothing but an error with words of ours comes out, and they can be shown on a terminal."""
    message = _refused_or_read(tomlkit.dumps(document).encode("utf-8"))
    assert message.replace("\n  ", " ").isprintable()
    assert not message or "; " in message


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(alphabet='[]{}=".,\n#ab1\\u0', max_size=200).map(str.encode)))
def test_any_bytes_are_accepted_or_refused_by_name(data: bytes) -> None:
    """A file that is none, too."""
    assert _refused_or_read(data).replace("\n  ", " ").isprintable()
