"""Shapes of tokens that their makers document: a fixed beginning and what may follow it.

The table is closed and data; adding a maker is adding a line. Positions are of bytes.
"""

import re
from collections.abc import Iterator
from typing import Final

_WORD: Final = rb"[A-Za-z0-9_-]"
_ALNUM: Final = rb"[A-Za-z0-9]"
_END: Final = rb"(?![A-Za-z0-9])"
_SHORTEST: Final = 15  # bytes of the shortest token of the table, its prefix included
_LONGEST: Final = 8192  # a signed token with many claims has some KiB

_SHAPES: Final[tuple[tuple[str, bytes], ...]] = (
    ("AKIA ASIA ABIA ACCA", rb"[A-Z0-9]{16}" + _END),  # Amazon
    ("ghp_ gho_ ghu_ ghs_ ghr_", _ALNUM + rb"{30,255}"),  # GitHub
    ("github_pat_", rb"[A-Za-z0-9_]{22,255}"),
    ("glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- gloas-", rb"[A-Za-z0-9_.-]{20,255}"),  # GitLab
    ("xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", rb"[A-Za-z0-9%-]{10,512}"),  # Slack
    ("hooks.slack.com/services/", rb"T[A-Z0-9]{6,16}/B[A-Z0-9]{6,16}/" + _ALNUM + rb"{16,64}"),
    ("sk_live_ sk_test_ rk_live_ rk_test_", _ALNUM + rb"{10,255}"),  # Stripe
    ("whsec_", rb"[A-Za-z0-9+/=]{16,255}"),
    # OpenAI, Anthropic and those who follow them; a long run with a digit tells a key from a hyphenated name
    ("sk-", _WORD + rb"{0,64}?(?=[A-Za-z]{0,64}[0-9])" + _ALNUM + rb"{16,255}" + _WORD + rb"{0,255}"),
    ("gsk_ xai- pplx- tvly- nvapi- lsv2_pt_ lsv2_sk_ jina_ csk-", _WORD + rb"{20,255}"),
    ("hf_ r8_", _ALNUM + rb"{30,255}"),
    ("AIza", _WORD + rb"{35}" + _END),  # Google
    ("ya29. 1//0", rb"[A-Za-z0-9_.-]{20,2048}"),
    ("GOCSPX-", _WORD + rb"{10,255}"),
    ("npm_", _ALNUM + rb"{36}" + _END),
    ("pypi-AgE", _WORD + rb"{40,512}"),
    ("rubygems_", rb"[0-9a-f]{48}"),
    ("SG.", _WORD + rb"{16,64}\." + _WORD + rb"{16,64}"),  # SendGrid
    ("key- SK", rb"[0-9a-f]{32}" + _END),  # Mailgun, Twilio
    ("xkeysib-", rb"[0-9a-f]{60,64}-" + _ALNUM + rb"{16}"),
    (":AA", rb"[A-Za-z0-9_-]{33}" + _END),  # Telegram, after the bot's number
    ("eyJ", rb"[A-Za-z0-9_-]{6,4096}\.[A-Za-z0-9_-]{6,4096}(?:\.[A-Za-z0-9_-]{0,4096}){1,3}"),  # JSON Web Token
    ("dop_v1_ doo_v1_ dor_v1_", rb"[0-9a-f]{40,64}"),  # DigitalOcean
    ("dapi", rb"[0-9a-f]{32}(?:-[0-9])?" + _END),  # Databricks
    ("dp.pt. dp.st. dp.sa.", rb"[A-Za-z0-9.]{40,128}"),  # Doppler
    ("lin_api_ secret_ ntn_", _ALNUM + rb"{40,64}"),  # Linear, Notion
    ("figd_ sbp_ nfp_ dckr_pat_ glsa_ glc_ sntrys_ sntryu_", rb"[A-Za-z0-9_=+/-]{20,512}"),
    ("shpat_ shpca_ shppa_ shpss_", rb"[0-9A-Fa-f]{32}"),  # Shopify
    ("sq0atp- sq0csp-", _WORD + rb"{22,64}"),  # Square
    ("ATATT3", rb"[A-Za-z0-9_=-]{20,512}"),  # Atlassian
    ("PMAK-", rb"[0-9a-f]{24}-[0-9a-f]{34}"),  # Postman
    ("hvs. hvb.", _WORD + rb"{20,512}"),  # Vault
    ("AGE-SECRET-KEY-1", rb"[0-9A-Z]{50,64}"),
    ("tskey-", _WORD + rb"{16,128}"),  # Tailscale
    ("pul-", rb"[0-9a-f]{40}" + _END),  # Pulumi
    ("EAA", _ALNUM + rb"{60,512}"),  # Facebook
    ("discord.com/api/webhooks/ discordapp.com/api/webhooks/", rb"[0-9]{16,20}/" + _WORD + rb"{40,100}"),
    ("$1$ $5$ $6$ $y$ $2a$ $2b$ $2y$ $argon2id$ $argon2i$", rb"[A-Za-z0-9./$=,+-]{20,255}"),  # hashes of passwords
    ("SU SA SN SO SC", rb"[A-Z2-7]{56}" + _END),  # NATS seeds
)


def _compiled(prefix: bytes, rest: bytes) -> "re.Pattern[bytes]":
    before = rb"(?<=[0-9]{8})" if prefix == b":AA" else rb"(?<![A-Za-z0-9])"
    return re.compile(before + re.escape(prefix) + rest)


_PATTERNS: Final = tuple(
    (prefix.encode(), _compiled(prefix.encode(), rest)) for prefixes, rest in _SHAPES for prefix in prefixes.split()
)
_PREFIXES: Final = tuple(prefix for prefix, _ in _PATTERNS)
_ANY: Final = re.compile(rb":AA|(?<![A-Za-z0-9])(?:" + b"|".join(map(re.escape, _PREFIXES)) + rb")")
_BEGINNINGS: Final = frozenset(prefix[:length] for prefix in _PREFIXES for length in range(1, len(prefix)))
_INSIDE: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-:/+=~%$,"
_START: Final = re.compile(rb"(?<![A-Za-z0-9])[A-Za-z0-9]|[:$]")


def values(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of every token in `raw`."""
    for pattern in _candidates(raw):
        for match in pattern.finditer(raw):
            yield match.span()


def announced(raw: bytes) -> bool:
    """Tell whether a token may stand in `raw`; False is certain."""
    return bool(_candidates(raw))


def _candidates(raw: bytes) -> "list[re.Pattern[bytes]]":
    """Return the patterns whose prefix occurs in a word as long as a token; prose has few such words."""
    if len(raw) < _SHORTEST:
        return []
    words = b" ".join([word for word in raw.split() if len(word) >= _SHORTEST])
    if not words or not _ANY.search(words):
        return []
    return [pattern for prefix, pattern in _PATTERNS if prefix in words]


def opens_at(raw: bytes) -> int:
    """Return where the end of `raw` may be the beginning of a token; its length if nowhere."""
    window = raw[-_LONGEST:]
    run = window[len(window.rstrip(_INSIDE)) :]
    offset = len(raw) - len(run)
    for match in _START.finditer(run):
        word = run[match.start() :]
        if word.startswith(_PREFIXES) or word in _BEGINNINGS:
            return offset + match.start()
    return len(raw)
