"""The small languages of sed and awk: a part of each that cannot write or run anything, strictly recognised.

A script outside that part counts as executing, and so does one whose text is not known, whatever stands in it: numbers
that the text provably computes are the only exception. sed's part holds addresses, `d D p P n N g G h H x = l q Q y`
and `s` with the flags `g p i I` and numbers; awk's holds no redirection but to the standard streams, no pipe, no
`getline`, and only slashes of which every awk says alike whether they divide.
"""

import re
from typing import Final

from host.policy.shell.options import is_quoted, may_be_option
from host.policy.shell.programs import named
from host.policy.shell.word import NUMBER, Word, has_mark

_UNSURE_OPTION: Final = "a word of {} may turn out to be an option"
_SED_ALONE: Final = re.compile(
    r"-[nErsuz]+|--(?:quiet|silent|regexp-extended|posix|null-data|separate|unbuffered|sandbox|debug)"
)
_SED_SCRIPT: Final = re.compile(r"-[nErsuz]*e|--expression")
_SED_JOINED: Final = re.compile(r"(?:-[nErsuz]*e|--expression=)(.+)", re.DOTALL)
# A pattern up to its delimiter: a bracket expression holds neither the delimiter nor a bracket, so that it ends in one
# place for those who know bracket expressions there and for those who do not.
_PATTERN: Final = r"(?:\\[^\n]|\[\^?\]?(?:\[:\w+:\]|\\[^\n@D]|[^\[\]\\\n@D])*\]|[^\[\\\n@D])*"
_PLAIN: Final = r"(?:\\[^\n]|[^\\\n@D])*"
_DELIMITERS: Final = "/|,#@!:%~+_="
_ADDRESS: Final = rf"(?:\d+~\d+|\d+|\$|/{_PATTERN.replace('@D', '/')}/I?)"
_SED_ADDRESSES: Final = re.compile(rf"(?:{_ADDRESS}[ \t]*(?:,[ \t]*(?:{_ADDRESS}|[+~]\d+)[ \t]*)?)?(?:![ \t]*)*")
_SED_COMMAND: Final = re.compile(r"[dDpPnNgGhHx=]|[lqQ][ \t]*\d*")
_SED_CHANGES: Final = tuple(
    re.compile(
        rf"s{d}{_PATTERN.replace('@D', d)}{d}{_PLAIN.replace('@D', d)}{d}[gpiI0-9]*"
        rf"|y{d}{_PLAIN.replace('@D', d)}{d}{_PLAIN.replace('@D', d)}{d}"
    )
    for d in map(re.escape, _DELIMITERS)
)
_SED_BETWEEN: Final = re.compile(r"[\s;{}]*")
_SED_END: Final = re.compile(r"[ \t]*(?=[;}\n]|$)")
# The numbers of the lines that a search found: what stands before the first colon of what `grep -n` prints of one file.
_LINES: Final = re.compile(
    r"""\$\(grep -n[iwEF]* (?:'[^'\n]+'|\w[\w.]*) \w[\w./-]* \| (?:(?:head|tail) -\d+ \| )?cut -d: -f1"""
    r"""(?: \| (?:head|tail) -\d+)?\)"""
)
_EXPANDED: Final = re.compile(r"""[`\\"]|\$(?![ ,;=}]|\Z)""")


def _script(word: Word) -> str | None:
    """Return a script's text with 1 for each number that bash puts in, None when it is not known."""
    if word.known:
        return word.text
    if not is_quoted(word):
        return None
    text = word.text.replace(NUMBER, "1")
    if has_mark(text):
        text = _LINES.sub("1", word.source[1:-1])
        return None if _EXPANDED.search(text) else text
    # bash may have put names of files in for a pattern that stands in a value
    return text if all(text.count(each) == word.source.count(each) for each in "*?[") else None


def sed_writes(words: tuple[Word, ...]) -> str:
    """Return "" when a sed command only reads, else what keeps it from that."""
    scripts: list[Word] = []
    operands: list[Word] = []
    at, joined, end = 1, False, len(words)
    while at < end:
        word = words[at]
        at += 1
        if word.text == "--" and word.known:
            end = at
        elif _SED_SCRIPT.fullmatch(word.text) and word.known and at < end:
            scripts.append(words[at])
            at += 1
        elif found := _SED_JOINED.fullmatch(word.text):
            if not word.known or not sed_script_reads(found[1]):
                return "sed's script is not known to only read"
            joined = True
        elif word.text.startswith("-") and len(word.text) > 1:
            if not word.known or not _SED_ALONE.fullmatch(word.text):
                return "sed with an option that is not known to only read"
        else:
            operands.append(word)
    implied = [*operands, *words[end:]][:1] if not scripts and not joined else []
    if any(may_be_option(word) for word in operands if word not in implied):
        return _UNSURE_OPTION.format("sed")
    texts = [_script(word) for word in (*scripts, *implied)]
    fine = bool(texts or joined) and all(text is not None and sed_script_reads(text) for text in texts)
    return "" if fine else "sed's script is not known to only read"


def sed_script_reads(script: str) -> bool:
    """Whether every command of a sed script is one that only reads and prints."""
    if has_mark(script):
        return False
    at = 0
    while True:
        at = _end(_SED_BETWEEN, script, at)
        if at >= len(script):
            return True
        at = _end(_SED_ADDRESSES, script, at)
        if script[at : at + 1] == "{":
            continue
        found = _SED_COMMAND.match(script, at)
        if found is None:
            found = next((found for each in _SED_CHANGES if (found := each.match(script, at))), None)
        ended = _SED_END.match(script, found.end()) if found else None
        if ended is None:
            return False
        at = ended.end()


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


_AWK_TOKEN: Final = re.compile(
    r"""(?P<comment>\#[^\n\\]*(?=\n|$))|(?P<string>"(?:\\[^\n]|[^"\\\n])*")|(?P<word>[A-Za-z_]\w*)"""
    r"""|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<blank>[ \t\r]+|\\\n)"""
    r"""|(?P<sign>\|\||&&|\+\+|--|==|!=|<=|>=|!~|[-+*%^]=|[-+*%^/(){}\[\];,<>!~?:=$\n])""",
)
_AWK_REGEX: Final = re.compile(rf"/(?!=){_PATTERN.replace('@D', '/')}/")
_AWK_OPERAND: Final = frozenset({"word", "number", "string"})
# After these no awk takes a slash for anything but the start of a pattern.
_BEFORE_REGEX: Final = frozenset({"", "(", ",", "!", "~", "!~", "{", "}", ";", "\n", "&&", "||"})
_AWK_WORDS: Final = named(
    """
    BEGIN END if else while for do in next exit break continue delete print printf return function func length
    substr index split sub gsub match sprintf tolower toupper sin cos atan2 exp log sqrt int rand srand gensub asort
    asorti strftime mktime systime strtonum and or xor compl lshift rshift nextfile
    """,
)
_AWK_FORBIDDEN: Final = frozenset({"system", "getline", "close", "fflush", "load", "include", "namespace", "switch"})
_AWK_COMPARED: Final = re.compile(r"\[\d+\][ \t]*(?:==|!=|[{})&|;\n]|$)")
_AWK_STREAM: Final = re.compile(r"""[ \t]*"/dev/std(?:err|out)"[ \t]*(?=[;}\n]|$)""")


def awk_executes(words: tuple[Word, ...]) -> str:
    """Return "" when an awk command only reads, else what keeps it from that."""
    at = 1
    while at < len(words):
        word = words[at]
        if not word.known and not word.text.startswith(("-F", "-v")):
            break
        if not word.known and not is_quoted(word):
            return _UNSURE_OPTION.format("awk")
        if word.text in {"-F", "-v"} and word.known and at + 1 < len(words):
            if not (words[at + 1].known or is_quoted(words[at + 1])):
                return _UNSURE_OPTION.format("awk")
            at += 2
        elif re.match(r"-[Fv].", word.text):
            at += 1
        elif word.text == "--":
            at += 1
            break
        elif word.text.startswith("-"):
            return "awk with an option that is not known to only read"
        else:
            break
    if at >= len(words):
        return "awk without a program"
    program = _script(words[at])
    if program is None:
        return "awk's program is not known"
    return "" if awk_program_reads(program) else "awk's program is not known to only read"


def awk_program_reads(program: str) -> bool:
    """Whether an awk program neither runs a command nor writes a file, as every awk would read it."""
    if not program.isascii():
        return False
    at, before, printing = 0, ("", ""), False
    open_: list[
        bool
    ] = []  # for each bracket that is open, whether it holds a condition, behind which a statement stands
    while at < len(program):
        pattern = program[at] == "/" and before[1] in _BEFORE_REGEX
        found = (_AWK_REGEX if pattern else _AWK_TOKEN).match(program, at)
        if found is None:
            return False
        kind, text = ("regex", "regex") if pattern else (found.lastgroup or "", found.group())
        at = found.end()
        if kind in {"blank", "comment"}:
            continue
        if (text == "/" and not _divides(before)) or (kind == "word" and text in _AWK_FORBIDDEN):
            return False
        if text == "ARGV" and not (before[1] in {"==", "!="} and _AWK_COMPARED.match(program, at)):
            return False  # what is put there is opened as a file, or as a connection
        if text == ">" and printing:
            stream = _AWK_STREAM.match(program, at)
            if stream is None:
                return False
            at = stream.end()
        if text in {"(", "["}:
            open_.append(before[1] in {"if", "while", "for"})
        elif text in {")", "]"}:
            if not open_:
                return False
            text = "condition)" if open_.pop() else text
        elif text == "\n" and open_:
            return False
        printing = text in {"print", "printf"} or (printing and text not in {";", "}"})
        before = (kind, text)
    return not open_


def _divides(before: tuple[str, str]) -> bool:
    """Whether a slash after that token divides, for every awk."""
    kind, text = before
    return text in {")", "]"} or (kind in _AWK_OPERAND and text not in _AWK_WORDS)
