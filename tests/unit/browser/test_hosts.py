"""Names of hosts and lists of them."""

import pytest

from browser.errors import NotAHost, Refused, Rule
from browser.hosts import HostList, name_of

LISTED = HostList(["example.org", "=id.example.net", "git.example.com:8443"])


@pytest.mark.clause("BOX-2")
@pytest.mark.parametrize(
    ("name", "port", "rule"),
    [
        ("example.org", 443, None),
        ("example.org", 80, None),
        ("a.b.example.org", 443, None),
        ("id.example.net", 443, None),
        ("git.example.com", 8443, None),
        ("git.example.com", 443, Rule.HOST_NOT_LISTED),
        ("sub.id.example.net", 443, Rule.HOST_NOT_LISTED),
        ("example.net", 443, Rule.HOST_NOT_LISTED),
        ("evilexample.org", 443, Rule.HOST_NOT_LISTED),
        ("example.org.evil.example", 443, Rule.HOST_NOT_LISTED),
        ("org.example", 443, Rule.HOST_NOT_LISTED),
        ("example.org", 8443, Rule.PORT),
        ("other.example", 22, Rule.PORT),
    ],
)
def test_an_entry_covers_its_subdomains_unless_it_is_exact_and_the_usual_ports_unless_it_names_one(
    name: str, port: int, rule: Rule | None
) -> None:
    """No more than that: neither a longer name that ends alike nor one that begins alike."""
    if rule is None:
        LISTED.admit(name, port)
        return
    with pytest.raises(Refused) as caught:
        LISTED.admit(name, port)
    assert caught.value.rule is rule


def test_a_list_grows_without_changing_the_one_it_was_made_from() -> None:
    """What is admitted for one call is admitted for that call."""
    admitted = LISTED.plus("=other.example:443").admit("other.example", 443)
    assert (admitted.exact, admitted.tls) == (True, True)
    assert not LISTED.plus("example.org").admit("example.org", 80).tls
    with pytest.raises(Refused):
        LISTED.admit("other.example", 443)


@pytest.mark.parametrize(
    "entry",
    [
        "", "*", "*.example.org", ".example.org", "=", "==example.org", "https://example.org", "example.org/",
        "example.org:0", "example.org:65536", "example.org:", "user@example.org", "127.0.0.1", "[::1]", "::1",
        "0x7f000001", "localhost", "org", "printer", "nas.local", "example.org\n", "exam ple.org", "пример.рф",
        "a..example.org", "-a.example.org",
    ],
)  # fmt: skip
def test_what_would_match_nothing_or_too_much_is_no_entry(entry: str) -> None:
    """Said when the settings are read, not found out later."""
    with pytest.raises(NotAHost):
        HostList([entry])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Example.ORG", "example.org"),
        ("example.org.", "example.org"),
        ("xn--e1afmkfd.xn--p1ai", "xn--e1afmkfd.xn--p1ai"),
        ("_dmarc.example.org", "_dmarc.example.org"),
        ("1.example.org", "1.example.org"),
    ],
)
def test_a_name_has_one_spelling(text: str, name: str) -> None:
    """Case and one dot at the end are no difference."""
    assert name_of(text) == name


@pytest.mark.clause("BOX-6")
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("127.0.0.1", Rule.IP_LITERAL),
        ("127.0.0.1.", Rule.IP_LITERAL),
        ("127.1", Rule.IP_LITERAL),
        ("0177.0.0.01", Rule.IP_LITERAL),
        ("0x7f.1", Rule.IP_LITERAL),
        ("a.0x7f", Rule.IP_LITERAL),
        ("2130706433", Rule.IP_LITERAL),
        ("8.8.8.8", Rule.IP_LITERAL),
        ("[::1]", Rule.IP_LITERAL),
        ("::ffff:127.0.0.1", Rule.IP_LITERAL),
        ("fe80::1%eth0", Rule.IP_LITERAL),
        ("localhost", Rule.INTERNAL_NAME),
        ("a.localhost", Rule.INTERNAL_NAME),
        ("printer", Rule.INTERNAL_NAME),
        ("nas.local", Rule.INTERNAL_NAME),
        ("vault.service.internal", Rule.INTERNAL_NAME),
        ("router.home.arpa", Rule.INTERNAL_NAME),
        ("1.0.0.127.in-addr.arpa", Rule.INTERNAL_NAME),
        ("wiki.corp", Rule.INTERNAL_NAME),
        ("hidden.onion", Rule.INTERNAL_NAME),
        ("１２７.0.0.1", Rule.IP_LITERAL),
        ("exаmple.org", Rule.MALFORMED),
        ("example。org", Rule.MALFORMED),
        ("example%2eorg", Rule.MALFORMED),
        ("exa\tmple.org", Rule.MALFORMED),
        ("example.org\\.evil.example", Rule.MALFORMED),
        ("a" * 64 + ".example.org", Rule.MALFORMED),
        ("a." * 130 + "org", Rule.MALFORMED),
        ("", Rule.MALFORMED),
        (".", Rule.MALFORMED),
    ],
)
def test_numbers_internal_names_and_doubtful_spellings_are_no_names(text: str, rule: Rule) -> None:
    """In whatever notation somebody may read them as an address."""
    with pytest.raises(Refused) as caught:
        name_of(text)
    assert caught.value.rule is rule
