"""How the words of a command are held against the exact options that keep it reading.

An entry names every option it admits, as it is spelt; no abbreviation, no cluster with a letter that is not listed, no
option that is not listed. Where a word's text is not known, it is admitted only where it cannot turn out to be an
option, unless no option of the program does harm. Knows words and entries; the entries are `programs`' and `git`'s.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from host.policy.shell.word import FETCHED, MARKS, NAMED, NUMBER, UNKNOWN, Word, has_mark

_NUMBER: Final = re.compile(r"-\d+\w?")
_COUNT: Final = re.compile(r"[-+]?\d+")
_SUBSTITUTION: Final = re.compile(r"\$\([^()]*\)")
_LONG_QUOTED: Final = re.compile(r'(--[a-z-]+=)(".*")', re.DOTALL)
_WRITTEN_TWICE: Final = 2  # characters: what quotes a word stands at both ends of it
_MARKED: Final = frozenset({"", "-", "+", "*", "?", "[", UNKNOWN, FETCHED})  # first characters: may come to a dash


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The exact options that keep a program reading."""

    letters: Mapping[str, str]  # short option → "" alone, ":" takes a value, "::" only a value that is joined to it
    longs: Mapping[str, str]  # long option without dashes → "" alone, "=" takes a value, "[=" only one after "="
    free: bool = False  # no option of it does harm, so that a word which is not known may be one
    numbers: bool = False  # -5 is one of its options
    apart: bool = False  # a short option's value is always a word of its own
    single: bool = False  # short options do not cluster
    no_lists: bool = False  # a word @FILE, wherever it stands, would name a file of further options
    most: int | None = None  # operands at most; None: any number


def options_of(text: str, *, free: bool = False) -> Options:
    """Return the entry that a text means.

    Its first word is the letters in getopt's manner ("-" for none), a word `!…` is a trait, the others long options.
    """
    letters, *rest = text.split() or ["-"]
    traits = {word[1:] for word in rest if word.startswith("!")}
    longs = [re.fullmatch(r"([^\[=]+)(\[?=)?", word) for word in rest if not word.startswith("!")]
    most = next((int(trait) for trait in traits if trait.isdigit()), None)
    return Options(
        letters=dict(re.findall(r"([^-:])(:{0,2})", letters)),
        longs={found[1]: found[2] or "" for found in longs if found},
        free=free,
        numbers=free or "numbers" in traits,
        apart="apart" in traits,
        single="single" in traits,
        no_lists="nolists" in traits,
        most=most,
    )


def entries_of(text: str, *, free: bool = False) -> dict[str, Options]:
    """Return the entries of a table: a line `NAME, NAME: OPTIONS`, continued by lines that start with a blank."""
    table: dict[str, Options] = {}
    for line in re.sub(r"\n +", " ", text).splitlines():
        names, colon, options = line.partition(": ")
        if colon or names:
            entry = options_of(options, free=free)
            table |= {name.strip(): entry for name in names.rstrip(":").split(",")}
    return table


def is_quoted(word: Word) -> bool:
    """Whether a word stands in double quotes as a whole, so that it stays one word whatever it comes to."""
    source = word.source
    if len(source) < _WRITTEN_TWICE or source[0] != '"' or source[-1] != '"':
        return False
    return '"' not in _SUBSTITUTION.sub("", source[1:-1])


def may_be_option(word: Word) -> bool:
    """Whether a word that is not known may turn out to be an option, or to hold one."""
    if word.known or _is_told(word):
        return False
    if word.text[:1] in _MARKED or word.text.startswith(("~-", "~+")):
        return True
    return (UNKNOWN in word.text or FETCHED in word.text) and not is_quoted(word)


def _may_name_list(word: Word) -> bool:
    """Whether a word begins with `@`, or may turn out to; names and numbers do not, but may come to nothing."""
    rest = word.text.lstrip(NAMED + NUMBER)
    return rest.startswith("@") or (not word.known and rest[:1] in _MARKED - {"", "-", "+"})


def _is_told(word: Word) -> bool:
    """Whether a word is a long option told in plain letters, of which only the value in quotes is not known."""
    found = _LONG_QUOTED.fullmatch(word.source)
    return found is not None and word.text.startswith(found[1]) and is_quoted(Word("", False, found[2]))


def may_vanish(word: Word) -> bool:
    """Whether a word may come to nothing, so that the next one stands in its place."""
    if word.known or is_quoted(word) or NUMBER in word.text:
        return False
    return not word.text.strip("".join(MARKS))


def outside(name: str, words: tuple[Word, ...], options: Options) -> str:
    """Return what of a program's words is outside its entry, "" when nothing is."""
    operands, why = split(name, words, options)
    if why or options.most is None:
        return why
    many = any(not word.known and not is_quoted(word) for word in operands)
    return f"{name} with that many operands is not known to only read" if many or len(operands) > options.most else ""


def split(name: str, words: tuple[Word, ...], options: Options) -> tuple[tuple[Word, ...], str]:
    """Return the operands among a program's words, and what of the words is outside its entry."""
    operands: list[Word] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.text == "--" and word.known:
            operands += words[at:]
            break
        used, why = _judged(name, words, at, options)
        if why:
            return (), why
        if used < 0:
            operands.append(word)
        at += max(used, 0)
    if options.no_lists and any(map(_may_name_list, words)):
        return (), f"{name} may take options from a file"
    return tuple(operands), ""


def _judged(name: str, words: tuple[Word, ...], at: int, options: Options) -> tuple[int, str]:
    """Return how many words an option takes beside its own (-1: an operand), and what is wrong with it.

    `at` is the place behind the word in question.
    """
    word = words[at - 1]
    text = word.text
    if may_be_option(word):
        return -1, "" if options.free else f"a word of {name} may turn out to be an option"
    if not text.startswith(("-", "+")) or text in {"-", "+"}:
        return -1, ""
    if text.startswith("+"):
        return -1, "" if options.free else f"{name} {text} is not known to only read"
    if not (word.known or options.free or text.startswith("--")) and has_mark(text):
        return 0, f"a value of {name} may come to nothing, and the next word stand in its place"
    takes = _long_takes(text[2:], options) if text.startswith("--") else _letters_take(text[1:], options)
    if takes is None:
        return 0, f"{name} {word.shown} is not known to only read"
    if takes and at < len(words) and not options.free and _is_doubtful(words[at]):
        return 0, f"the value of {name} {text} may turn out to be an option"
    return takes, ""


def _is_doubtful(value: Word) -> bool:
    """Whether what is taken for an option's value may be something else to the program."""
    if may_vanish(value) or (may_be_option(value) and not is_quoted(value)):
        return True
    return value.known and value.text.startswith("-") and len(value.text) > 1 and not _COUNT.fullmatch(value.text)


def _long_takes(text: str, options: Options) -> int | None:
    long, equals, _ = text.partition("=")
    kind = options.longs.get(long)
    if kind is None or (equals and not kind):
        return None
    return 1 if kind == "=" and not equals else 0


def _letters_take(letters: str, options: Options) -> int | None:
    """Return how many further words a cluster of short options takes, None when it is not admitted."""
    if options.numbers and _NUMBER.fullmatch(f"-{letters}"):
        return 0
    for at, letter in enumerate(letters):
        kind, rest = options.letters.get(letter), letters[at + 1 :]
        if kind is None or (options.single and rest and not kind) or (options.apart and rest and kind):
            return None
        if kind:
            return 1 if kind == ":" and not rest else 0
    return 0
