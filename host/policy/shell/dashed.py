"""Programs whose long options have one dash, so that no cluster of letters is read: openssl, pdftotext, 7z, ffprobe.

Their words are held against exact options, as in `options`; of openssl and 7z against those of a sub-command.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from host.policy.shell.options import is_quoted, may_be_option, may_vanish
from host.policy.shell.word import Word


class _Form(msgspec.Struct, frozen=True):
    """What a program may be given."""

    alone: str  # options without a value, as one regular expression
    valued: str = ""  # options with a value, likewise
    least: int = 0  # operands
    most: int | None = None


_DIGESTS: Final = r"sha\d*(?:-\d+)?|sha3-\d+|md5|blake2[bs]\d+"
_PDF: Final = r"f|l|enc|opw|upw"
_FORMS: Final[dict[str, _Form]] = {
    "openssl x509": _Form(
        rf"noout|text|subject|issuer|serial|dates|startdate|enddate|fingerprint|modulus|pubkey|purpose|email|ocsp_uri"
        rf"|alias|hash|subject_hash|issuer_hash|{_DIGESTS}",
        "in|inform|nameopt|certopt|ext|checkend|checkhost",
        most=0,
    ),
    "openssl dgst": _Form(rf"r|hex|c|{_DIGESTS}"),
    **{f"openssl {name}": _Form("r|hex|c") for name in ("sha1", "sha224", "sha256", "sha384", "sha512", "md5")},
    "pdftotext": _Form("layout|raw|nopgbrk|q|v|h|help", _PDF, least=2, most=2),
    "pdfinfo": _Form("meta|rawdates|isodates|box|v|h|help", _PDF, most=1),
    "7z l": _Form("slt|ba|r|bd|y", least=1, most=1),
    "7z t": _Form("ba|r|bd|y|bb[0-3]", least=1, most=1),
    "ffprobe": _Form(
        r"hide_banner|show_format|show_streams|show_chapters|show_programs|show_packets|show_frames|count_frames"
        r"|count_packets|pretty|unit|bitexact|version|formats|codecs|h",
        r"v|loglevel|i|show_entries|of|print_format|output_format|select_streams|read_intervals",
        most=1,
    ),
}


def _operands(name: str, words: tuple[Word, ...], form: _Form) -> tuple[list[Word], str]:
    """Return what is no option among a program's words, and what keeps them from only reading."""
    found: list[Word] = []
    at = 0
    while at < len(words):
        word, option = words[at], words[at].text[1:]
        at += 1
        if word.known and word.text.startswith("-") and option:
            if re.fullmatch(form.valued, option) and at < len(words):
                if may_vanish(words[at]) or not (words[at].known or is_quoted(words[at])):
                    return [], f"the value of {name} {word.text} may turn out to be an option"
                at += 1
            elif not re.fullmatch(form.alone, option):
                return [], f"{name} {word.text} is not known to only read"
        elif may_be_option(word) or may_vanish(word) or (option and word.text.startswith(("-", "@"))):
            return [], f"a word of {name} may turn out to be an option"
        else:
            found.append(word)
    return found, ""


def _dashed(name: str, words: tuple[Word, ...]) -> str:
    form = _FORMS[name]
    operands, why = _operands(name, words, form)
    if why or form.least <= len(operands) <= (len(operands) if form.most is None else form.most):
        return why
    return f"{name} with that many operands is not known to only read"


def _with_sub(words: tuple[Word, ...]) -> str:
    """`openssl` and `7z`: the sub-command comes first."""
    name = words[0].text.rpartition("/")[2]
    sub = f"{name} {words[1].text}" if len(words) > 1 and words[1].known else ""
    if sub == "openssl version":
        return (
            "" if len(words) == len(("openssl", "version")) else "openssl version with words is not known to only read"
        )
    return _dashed(sub, words[2:]) if sub in _FORMS else f"{sub or name} is not known to only read"


def _pdftotext(words: tuple[Word, ...]) -> str:
    """It writes beside what it reads, where it is not told to print."""
    prints = words[-1].known and words[-1].text == "-"
    return _dashed("pdftotext", words[1:]) if prints else "pdftotext writes a file"


def _pdfinfo(words: tuple[Word, ...]) -> str:
    return _dashed("pdfinfo", words[1:])


def _ffprobe(words: tuple[Word, ...]) -> str:
    """What it is pointed at may be an address, or a protocol that opens others."""
    if any(":" in word.text and not re.fullmatch(r"[\w=,:]+", word.text) for word in words[1:]):
        return "ffprobe may read from another machine"
    return _dashed("ffprobe", words[1:])


JUDGES: Final[dict[str, Callable[[tuple[Word, ...]], str]]] = {
    "openssl": _with_sub,
    "7z": _with_sub,
    "pdftotext": _pdftotext,
    "pdfinfo": _pdfinfo,
    "ffprobe": _ffprobe,
}
