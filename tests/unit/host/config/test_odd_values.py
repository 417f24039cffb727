"""Values in `elis.toml` that no rule expects: each is refused with its key and a remedy, none escapes as a crash."""

from pathlib import Path

import pytest

from host.config import load as module
from host.config.settings import Settings
from host.errors import SettingsError

HOME = Path("/home/somebody/.elis")
NOWHERE = Path("/nonexistent/policy.toml")
MODEL = '[models.main]\nprovider = "openai"\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\n'
GROUP = "[groups.main]\n"
DIGITS = "9" * 400

ODD = [
    # text, key, what is wrong or the remedy
    (GROUP + '[groups.main.folders]\nd = { path = "/a\\u0000b" }\n', "groups.main.folders.d.path", "cannot be a path"),
    (GROUP + '[groups.main.folders]\nd = { path = "" }\n', "groups.main.folders.d.path", "not a full path"),
    (MODEL + 'api_key = "file:~nobodyx/k"\n' + GROUP, "models.main.api_key", "write the path from /"),
    (MODEL + 'api_key = "file:/a\\u0000b"\n' + GROUP, "models.main.api_key", "cannot be a path"),
    (MODEL + GROUP + '[secrets.x]\nref = "file:~nobodyx/k"\n', "secrets.x.ref", "write the path from /"),
    ('[host]\ntls_certificate = "/a\\u0000"\ntls_key = "/k"\n' + GROUP, "host.tls_certificate", "cannot be a path"),
    ('[host]\nlisten = "a\\u0000b:80"\n' + GROUP, "host.listen", "is not an address and a port"),
    ('[host]\nlisten = "127.0.0.1:8\u0667"\n' + GROUP, "host.listen", "is not an address and a port"),
    (
        f'[host]\nlisten = "{"a" * 70}.org:80"\nproxy_url = "https://x.org"\n' + GROUP,
        "host.listen",
        "address and a port",
    ),
    (GROUP + 'timezone = "a\\u0000"\n', "groups.main.timezone", "no time zone"),
    (GROUP + f'timezone = "{"a/" * 4000}"\n', "groups.main.timezone", "no time zone"),
    (GROUP + f"[groups.main.budget]\ntokens = {DIGITS}\n", "groups.main.budget.tokens", "inf"),
    (GROUP + f"[groups.main.lanes]\nqueue = {DIGITS}\n", "groups.main.lanes.queue", "write"),
    (MODEL + f"context_tokens = {DIGITS}\n" + GROUP, "models.main.context_tokens", "write"),
    (MODEL + f"price = {{ input = {DIGITS} }}\n" + GROUP, "models.main.price.input", "write"),
    (MODEL + GROUP + f"x = {'[' * 2000}{']' * 2000}\n", "elis.toml", "nested too deeply"),
    (MODEL + GROUP + f"x = {'[' * 100}{']' * 100}\n", "groups.main.x", "nested too deeply"),
    (MODEL + GROUP + f"[{'.'.join('a' * 900)}]\n", "a.a.a", "nested too deeply"),
    (GROUP + f"x = {'9' * 5000}\n", "elis.toml", "is not TOML"),
    ('[host]\nproxy_url = "https://elis.example.org:99999"\n' + GROUP, "host.proxy_url", "is not the https origin"),
    (MODEL.replace("127.0.0.1:1", "h\\u0000st") + GROUP, "models.main.base_url", "is not an http or https address"),
]


def settings(text: str) -> Settings:
    """Read `text` as the settings of HOME."""
    return module.parse(text.encode(), HOME / "elis.toml", None, administrator=NOWHERE)


@pytest.mark.parametrize(
    ("text", "key", "words"), ODD, ids=[f"{key}-{number}" for number, (_, key, _) in enumerate(ODD)]
)
def test_an_odd_value_is_refused_with_its_key_and_a_remedy(text: str, key: str, words: str) -> None:
    """What a library trips over is as much the writer's slip as what a rule knows."""
    with pytest.raises(SettingsError) as caught:
        settings(text)
    assert key in str(caught.value)
    assert words in str(caught.value)
    assert "; " in str(caught.value)


def test_a_key_with_control_characters_does_not_reach_the_terminal_as_it_is() -> None:
    """A name out of a file moves no cursor and begins no line of its own."""
    with pytest.raises(SettingsError) as caught:
        settings(GROUP + '"\\u001b[2J\\nelis: all is well" = 1\n')
    assert caught.value.message.isprintable()
