"""Masking of texts, trees and streams: what must go and what must stay."""

import json
from pathlib import Path
from typing import Any

import pytest

from host.tools.text import TYPICAL
from host.vault.masking import MASK, Masker
from host.vault.shapes import KINDS

CASES = [json.loads(line) for line in (Path(__file__).parents[3] / "cases" / "masking.jsonl").read_text().splitlines()]


@pytest.mark.clause("MASK-1")
@pytest.mark.parametrize("case", CASES, ids=[case["why"] for case in CASES])
def test_the_cases_come_out_right(case: dict[str, Any]) -> None:
    """What must not remain is gone, what must remain is there."""
    masker = Masker()
    for name, value in case["lent"].items():
        masker.lend(name, value)
    shown = masker.text(case["text"])
    for gone in case["must_not_contain"]:
        assert gone not in shown
    for kept in case["must_contain"]:
        assert kept in shown


@pytest.mark.clause("PASS-1", "MASK-1")
def test_passports_and_masker_speak_of_the_same_kinds() -> None:
    """What a passport names as masked is what the masker knows."""
    assert TYPICAL == KINDS


SECRETS = [
    ("password: hunter2", "hunter2"),
    ('db_password = "hunter2"', "hunter2"),
    ("--password hunter2 --verbose", "hunter2"),
    ("--password=letmein", "letmein"),
    ("mysql -u root --password='p@ss w0rd'", "p@ss w0rd"),
    ("export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzKEY1", "wJalrXUtnFEMI"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzKEY1", "wJalrXUtnFEMI"),
    ("id AKIAIOSFODNN7EXAMPLE.", "AKIAIOSFODNN7EXAMPLE"),
    ("token: ghp_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F292c6912"),
    ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("authorization: token 0123456789abcdef", "0123456789abcdef"),
    ('curl -H "Authorization: Bearer abc.def-123456" https://x', "abc.def-123456"),
    ('Authorization: Digest username="M", response="6629fae49393a05397450978507c4ef1"', "6629fae49393"),
    (
        "Authorization: AWS4-HMAC-SHA256 Credential=A/2013/s3, SignedHeaders=host, Signature=fe5f80f77d5f",
        "fe5f80f77d5f",
    ),
    ("X-Api-Key: 0a1b2c3d4e5f6a7b8c9d", "0a1b2c3d4e5f"),
    ("Set-Cookie: session=9f8e7d6c5b4a39281706; Path=/; HttpOnly", "9f8e7d6c5b4a39281706"),
    ("Cookie: theme=dark; sessionid=38afes7a8xyz123", "38afes7a8xyz123"),
    ('{"password": "s3cret!"}', "s3cret!"),
    ('{\\"password\\":\\"s3cret!\\"}', "s3cret!"),
    ("GET /x?api_key=abcdef123456&y=1", "abcdef123456"),
    ("https://x.example/c?sv=2020&sig=AbCdEf1234567890%2Bxyz%3D", "AbCdEf1234567890"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n", "dozjgNryP4J3"),
    ("sk-proj-abcdEFGH1234abcdEFGH1234abcdEFGH1234", "abcdEFGH1234"),
    ("DB_PASS=letmein ./run", "letmein"),
    ("user=bob&password=letmein", "letmein"),
    ("login failed: user=bob password=letmein", "letmein"),
    ("SECRET_KEY_BASE=abcdef0123456789", "abcdef0123456789"),
    ("<password>hunter2</password>", "hunter2"),
    ("machine x login bob password hunter2", "hunter2"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn\n", "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn"),
    ("AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq==;", "Eby8vdM02"),
    ("Server=x;User Id=u;Password=Pa55w0rd;", "Pa55w0rd"),
    ("curl -u admin:hunter2 http://x", "hunter2"),
    ("bot 123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1", "AAHdqTcvCH1"),
    ("//registry.example/:_authToken=npm_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijkl"),
    ('"auth": "dXNlcjpwYXNzd29yZA=="', "dXNlcjpwYXNz"),
    ("redis://:hunter2@localhost:6379/0", "hunter2"),
    ("password => 'hunter2'", "hunter2"),
]


@pytest.mark.clause("MASK-1", "JRN-4")
@pytest.mark.parametrize(("text", "value"), SECRETS, ids=[text[:40] for text, _ in SECRETS])
def test_typical_forms_are_masked_once_and_for_all(text: str, value: str) -> None:
    """The value goes, a second masking changes nothing, and JSON around it stays JSON."""
    masker = Masker()
    shown = masker.text(text)
    found = MASK.search(shown)
    assert value not in shown
    assert found is not None
    assert found.group(1) in KINDS
    assert masker.text(shown) == shown
    inside = masker.text(json.dumps({"output": text}))
    assert value not in json.loads(inside)["output"]


ORDINARY = [
    "max_tokens = 200000, tokens_in: 500, token_count=17",
    "token = os.environ['API_TOKEN']",
    "password = get_password(user)",
    "def connect(user, password=None, token: str = ''): ...",
    "connect(password=password, api_key=settings.api_key)",
    "api_key: str = Field(default='')",
    'api_key = "env:OPENAI_API_KEY"',
    "export TOKEN=$(cat token.txt) PASSWORD=${PASSWORD}",
    "PASSWORD=<your password> TOKEN=********",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "Authorization is required; the bearer of this letter may pass.",
    "SSL_KEY_FILE=/etc/ssl/private/key.pem PWD=/home/me",
    "The secret: practise. The key: patience. His password: nobody knew.",
    "primary_key=id foreign_key: user_id public_key = ssh-ed25519",
    '{"next_page_token": "CAUQAA==1234abcd", "token_type": "bearer"}',
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c1585b6e1c1",
    "https://example.org:8080/a@b?x=1 and me@example.org",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0\n-----END CERTIFICATE-----",
    "2026-11-30T12:00:00Z key=value level=info msg=started",
    "sk-learn and sk-image-transform-pipeline are packages",
    "API_TOKEN=«secret:github» Authorization: Bearer «masked:token»",
    "пароль: «secret:x» パスワード",
]


@pytest.mark.clause("MASK-1")
@pytest.mark.parametrize("text", ORDINARY, ids=[text[:40] for text in ORDINARY])
def test_ordinary_text_and_references_stay_as_they_are(text: str) -> None:
    """Names, references, code, hashes and handles are no secrets."""
    assert Masker().text(text) == text


@pytest.mark.clause("MASK-1")
def test_a_handle_beats_a_mask_where_both_would_stand() -> None:
    """A lent value keeps its handle inside a header, so that the call can be repeated with it."""
    masker = Masker()
    masker.lend("api", "s3cr3t-Value-42")
    assert masker.text("Authorization: Bearer s3cr3t-Value-42") == "Authorization: Bearer «secret:api»"


@pytest.mark.clause("MASK-1")
def test_the_longer_of_two_lent_values_is_the_one_that_is_named() -> None:
    """A value inside another does not leave the rest of the other behind."""
    masker = Masker()
    masker.lend("short", "alpha-beta-1")
    masker.lend("long", "alpha-beta-1-gamma-2")
    assert masker.text("<alpha-beta-1-gamma-2> <alpha-beta-1>") == "<«secret:long»> <«secret:short»>"


@pytest.mark.clause("MASK-1")
def test_a_short_value_is_masked_as_a_word_of_its_own_only() -> None:
    """A PIN does not blacken every number that holds its digits."""
    masker = Masker()
    masker.lend("pin", "4711")
    assert masker.text("pin 4711, port 47110, (4711)") == "pin «secret:pin», port 47110, («secret:pin»)"


@pytest.mark.clause("MASK-1", "JRN-4")
def test_a_tree_is_masked_in_every_string_and_by_the_names_of_its_fields() -> None:
    """Numbers stay, what is clean is handed back as it is, and a field's name can show that its value is secret."""
    masker = Masker()
    masker.lend("api", "s3cr3t-Value-42")
    tree = {"a": ["x s3cr3t-Value-42", 7], "password": "hunter2", "b": {"c": None}}
    assert masker.tree(tree) == {"a": ["x «secret:api»", 7], "password": "«masked:named-value»", "b": {"c": None}}
    clean = {"a": ["x", 7], "key": "t1:1.0", "tokens_in": 5}
    assert masker.tree(clean) is clean


@pytest.mark.clause("JRN-4")
def test_the_journal_s_tree_loses_lent_values_and_keeps_what_nobody_lent() -> None:
    """What a person or a model wrote stays as it was said, but for lent values."""
    masker = Masker()
    tree = {"text": "password: hunter2 and s3cr3t-Value-42"}
    assert masker.lent_tree(tree) is tree
    masker.lend("api", "s3cr3t-Value-42")
    assert masker.lent_tree(tree) == {"text": "password: hunter2 and «secret:api»"}


@pytest.mark.clause("MASK-1", "JRN-4")
def test_names_of_fields_lose_lent_values_but_the_names_that_programs_give_stay() -> None:
    """A model may write a value where a header's name belongs; a lent word must not rename the fields of an event."""
    masker = Masker()
    masker.lend("api", "s3cr3t-Value-42")
    masker.lend("word", "arguments")
    tree = {"arguments": {"s3cr3t-Value-42": 1, "s3cr3t-Value-42 ": 2, "«secret:api»": 3, "x": "arguments"}}
    for masked in (masker.tree(tree), masker.lent_tree(tree)):
        assert masked == {
            "arguments": {"«secret:api»": 1, "«secret:api» ": 2, "«secret:api»'": 3, "x": "«secret:word»"}
        }


@pytest.mark.clause("SEC-3", "MASK-1")
def test_a_key_of_the_host_is_concealed_but_a_plain_word_in_its_place_is_not() -> None:
    """Local servers are given `none` or `ollama` for a key, and people say that too."""
    masker = Masker()
    masker.conceal("provider-key", "ollama")
    masker.conceal("provider-key", "Zx81-Zx82-Zx83")
    assert masker.text("ollama runs; Zx81-Zx82-Zx83") == "ollama runs; «masked:provider-key»"


@pytest.mark.clause("MASK-1")
def test_a_stream_passes_ordinary_words_on_at_once() -> None:
    """Only what could still become a secret waits."""
    masker = Masker()
    masker.lend("api", "s3cr3t-Value-42")
    stream = masker.stream()
    assert stream.feed("Hello, this is ordin") == "Hello, this is ordin"
    assert stream.feed("ary text. The token is s3cr3t-V") == "ary text. The token is "
    assert stream.feed("alue-42 and ") == "«secret:api» and "
    assert stream.feed(" password=") == " password="
    assert stream.feed("hun") == ""
    assert stream.feed("ter2\n") == "«masked:named-value»\n"
    assert stream.flush() == ""


@pytest.mark.clause("MASK-1")
def test_a_stream_holds_back_no_more_than_its_bound() -> None:
    """A secret without an end is masked to the end of its word, and the stream goes on behind it."""
    stream = Masker().stream()
    shown = "".join(stream.feed("password=" if at == 0 else "x1" * 500) for at in range(60))
    assert "x1" not in shown
    rest = stream.feed(" and on") + stream.flush()
    assert "x1" not in rest
    assert rest.endswith(" and on")


@pytest.mark.clause("MASK-1")
def test_a_dump_of_one_secret_without_a_pause_shows_nothing_of_it() -> None:
    """It is longer than a stream may hold back: what is over the bound is passed on as handles."""
    masker = Masker()
    masker.lend("api", "s3cr3t-Value/42+x==")
    data = b"s3cr3t-Value/42+x==" * 2_500
    rows = (f"{at:08x}: {data[at : at + 16].hex(' ', -2)}" for at in range(0, len(data), 16))
    text, stream = "\n".join(rows), masker.stream()
    shown = "".join(stream.feed(text[at : at + 4096]) for at in range(0, len(text), 4096)) + stream.flush()
    assert "7333 6372" not in shown
    assert len(shown) < len(text) / 20


@pytest.mark.clause("MASK-1")
def test_an_end_that_becomes_an_escape_with_what_follows_hides_nothing() -> None:
    """`%a` at the end of an escaped value and an `A` behind it are no escape of the value."""
    masker = Masker()
    masker.lend("api", "a000000000%a")
    spelt = "".join(f"\\x{byte:02x}" for byte in b"a000000000%a")
    assert masker.text(f"x {spelt} A") == "x «secret:api» A"


HOSTILE = (
    *("-----BEGIN RSA PRIVATE KEY-----", "password=", "a" * 30, "%25", "://x:", "Cookie: a=", "\\u00", "curl -u "),
    *(
        'password="',
        "password: ",
        '{\\"password\\":\\"',
        "key=",
        "sk-abc_def-",
        "eyJaaaaaa.",
        "Authorization: Digest a=",
    ),
    *(
        "00000010: 4142  AB\n",
        "12, ",
        "\x1b[0;",
        "\n> ",
        "=41",
        "\\101",
        "\\U0000004",
        "&amp;",
        "aaaaaaaaaaaaaaaaaaaaaaaaa ",
    ),
    *("00000000: 41 ", "00000000: 41\n", "0000000   s  \\", " 000 000\n", "YWFhYWFhYWFhYWFh\n", "0" * 40),
    *("YWFhYWFhYWFhYWFhYWFhYWFh", "6161616161", "sshpass -p", "identified by '", "<password>", 'key" value="', "$6$"),
)


@pytest.mark.clause("MASK-1")
def test_masking_reads_a_hostile_text_in_linear_work() -> None:
    """Texts made of beginnings of forms, without any end, are read in the time of one test."""
    masker = Masker()
    masker.lend("api", "aaaaaaaaaaaaaaaaaaaaaaaaab")
    for beginning in HOSTILE:
        masker.text(beginning * (200_000 // len(beginning)))
