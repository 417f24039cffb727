"""What reaches a command as its input or as words that another program makes for it: by pipes, xargs and find.

What a text does not tell is unknown text; for programs that remove, it is also told beneath which folders it lies.
"""

import re
from typing import Final

import msgspec

from host.policy.shell.floor import find_roots, narrowed_by_name, operands, unnarrowed
from host.policy.shell.printing import echoed, printed
from host.policy.shell.rights import is_downloader
from host.policy.shell.simple import Simple
from host.policy.shell.word import FETCHED, UNKNOWN, Word, has_mark
from host.policy.shell.wrappers import base_name, system_name

_PASSING: Final = frozenset({"cat", "tee"})
_MOST_WORDS: Final = 64  # that are made of an input
_MOST_ROOTS: Final = 16  # of a find
_MOST_BUILT: Final = 200  # commands of a find
_REMOVING: Final = frozenset({"rm", "grm", "rmdir", "unlink", "trash", "shred"})
_FILTERS: Final = frozenset({"grep", "egrep", "fgrep", "head", "tail", "sort", "uniq"})
_NAMING: Final = frozenset({"ls", "fd", "fdfind"})  # print names beneath the folder they run in, unless told otherwise
_OWN_SPLIT: Final = re.compile(r"-[0rtx]*[0d].*|--null|--delim.*|-[0rtx]*a.*|--arg-file.*|-E.*|-e.*|--eof.*")
_REPLACING: Final = re.compile(r"-[0rtx]*I(.+)|-i(.*)|--replace(?:=(.*))?")


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """What a command is given."""

    piped: bool = False  # something is
    text: Word | None = None  # what it is, where the text tells it
    fetched: bool = False  # it came from a download


def given_by(upstream: list[Simple]) -> Input:
    """Return what the commands of a pipe hand on."""
    fetched = any(each.words and is_downloader(each.words) for each in upstream)
    if any(not each.words or system_name(each.words[0].text) not in _PASSING for each in upstream[1:]):
        return Input(piped=True, fetched=fetched)
    source = upstream[0]
    texts, known = [word.text for word in source.words], all(word.known for word in source.words)
    text: Word | None = None
    match system_name(texts[0]) if texts else "":
        case "echo":
            text = Word(echoed(texts[1:]), known)
        case "printf":
            text = Word(printed(texts[1:]), known)
        case "cat" if len(texts) == 1 and source.stdin is not None:
            text = Word(source.stdin, source.stdin_known)
        case _:
            pass
    return Input(piped=True, text=text, fetched=fetched or (text is not None and FETCHED in text.text))


def built_by_xargs(
    own: tuple[Word, ...], inner: tuple[Word, ...], given: Word | None, upstream: list[Simple]
) -> list[tuple[Word, ...]]:
    """Return the commands that xargs may build; `own` are its own words, `inner` the command's."""
    inner = inner or (Word("echo"),)
    lines, sure = _values(own, given)
    if not sure:
        lines += [Word(guess, False) for guess in _named_by(upstream)]
    mark = _replaced(own)
    rests = _beneath(upstream) if base_name(inner[0].text) in _REMOVING else [UNKNOWN]
    source = f"$({' | '.join(' '.join(word.shown for word in each.words) for each in upstream)})"
    unknown = [] if sure else [Word(rest, False, source) for rest in rests]
    if not mark:
        return [(*inner, *lines, *unknown)]
    return [_put(inner, mark, value.text, value.source) for value in [*lines, *unknown]] or [inner]


def built_by_find(words: tuple[Word, ...]) -> list[tuple[Word, ...]] | None:
    """Return the commands that find runs for what it finds: with a name, and with where it starts if it finds all.

    None: there are too many of them.
    """
    texts = [word.text for word in words[1:]]
    roots = find_roots(texts)[:_MOST_ROOTS] if unnarrowed(texts) else []
    built: list[tuple[Word, ...]] = []
    at = 1
    while at < len(words):
        if words[at].text not in {"-exec", "-execdir", "-ok", "-okdir"}:
            at += 1
            continue
        end = next((i for i in range(at + 1, len(words)) if words[i].text in {";", "+"}), len(words))
        inner = words[at + 1 : end]
        built.append(_put(inner, "{}", f"./{UNKNOWN}"))
        if roots and any("{}" in word.text for word in inner):
            starts = tuple(Word(root, False) for root in roots)
            built.append(tuple(each for word in inner for each in (starts if word.text == "{}" else (word,))))
        if len(built) > _MOST_BUILT:
            return None
        at = end + 1
    return built


def _put(inner: tuple[Word, ...], mark: str, value: str, source: str = "") -> tuple[Word, ...]:
    return tuple(
        Word(word.text.replace(mark, value), False, source or word.shown) if mark in word.text else word
        for word in inner
    )


def _values(own: tuple[Word, ...], given: Word | None) -> tuple[list[Word], bool]:
    """Return the words that an input comes to, and whether that is sure."""
    if given is None:
        return [], False
    words = given.text.replace("'", " ").replace('"', " ").split()
    strange = any(char in given.text for char in "'\"\\") or any(_OWN_SPLIT.fullmatch(word.text) for word in own[1:])
    sure = given.known and not strange and len(words) <= _MOST_WORDS and not has_mark(given.text)
    return [Word(each, False) for each in words[:_MOST_WORDS]], sure


def _replaced(own: tuple[Word, ...]) -> str:
    """Return the text that `xargs -I` puts each line in place of, "" without."""
    for at, word in enumerate(own):
        if word.text in {"-I", "--replace"} and at + 1 < len(own):
            return own[at + 1].text
        if found := _REPLACING.fullmatch(word.text):
            return next((group for group in found.groups() if group), "{}")
    return ""


def _named_by(upstream: list[Simple]) -> list[str]:
    """Return the targets that the commands before a pipe name: all that is beneath them may come through it."""
    if len(upstream) != 1 or not upstream[0].words:
        return []
    name, *texts = [word.text for word in upstream[0].words]
    if base_name(name) == "find" and unnarrowed(texts):
        return find_roots(texts)[:_MOST_WORDS]
    if base_name(name) == "ls" and any(re.fullmatch(r"-\w*d\w*", text) for text in texts):
        return operands(texts)[:_MOST_WORDS]
    return []


def _beneath(upstream: list[Simple]) -> list[str]:
    """Return texts for what the commands before a pipe may print: names beneath a folder, where they print such."""
    if not upstream or any(not each.words or base_name(each.words[0].text) not in _FILTERS for each in upstream[1:]):
        return [UNKNOWN]
    name, *texts = [word.text for word in upstream[0].words] or [""]
    name = base_name(name)
    if name == "find":
        roots = find_roots(texts)
        if narrowed_by_name(texts) and not any(map(has_mark, roots)):
            return [f"./{UNKNOWN}"]
        return [f"{root.rstrip('/')}/{UNKNOWN}" for root in roots[:_MOST_WORDS]]
    lists = name in _NAMING or (name == "git" and texts[:1] == ["ls-files"])
    lists |= name in {"grep", "rg"} and any(re.fullmatch(r"-\w*l\w*|--files.*", text) for text in texts)
    plain = not any(text.startswith(("/", "~", "..")) or has_mark(text) for text in texts)
    return [f"./{UNKNOWN}"] if lists and plain else [UNKNOWN]
