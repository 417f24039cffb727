"""The small languages of sed and awk: whether a program in them writes or runs anything.

Both are scanned once from left to right, strings and patterns skipped; what the scan does not understand counts as
writing.
"""

import re
from typing import Final

from host.policy.shell.word import FETCHED, NAMED, UNKNOWN, Word

_SED_ALONE: Final = re.compile(
    r"-[nErsuz]+|--(?:quiet|silent|regexp-extended|posix|debug|null-data|separate|unbuffered|sandbox|version|help)"
)
_SED_SCRIPT: Final = re.compile(r"-[nErsuz]*e(.*)|--expression(?:=(.*))?", re.DOTALL)
_ADDRESS: Final = re.compile(
    rf"[\s;{{}}]*(?:[0-9$,~+!\s{UNKNOWN}{NAMED}]|(?:/(?:\\.|\[\]?[^\]]*\]|[^/\\])*/|\\(.)(?:\\.|(?!\1).)*\1)[IM]*)*",
    re.DOTALL,
)
_PARTS: Final = 2  # of s and y, each ended by the delimiter
_SED_FLAGS: Final = re.compile(r"[gpiIm0-9M]*")


def sed_writes(words: tuple[Word, ...]) -> str:
    """Return "" when a sed command only reads, else what keeps it from that."""
    scripts: list[str] = []
    operands: list[Word] = []
    at = 1
    while at < len(words):
        text = words[at].text
        at += 1
        if text == "--":
            operands += words[at:]
            break
        if found := _SED_SCRIPT.fullmatch(text):
            value = found[1] or found[2]
            if not value and at < len(words):
                value, at = words[at].text, at + 1
            scripts.append(value or "")
        elif _SED_ALONE.fullmatch(text):
            continue
        elif (text.startswith("-") and len(text) > 1) or (not words[at - 1].known and text in {UNKNOWN, FETCHED, "*"}):
            return "sed with an option that is not known to only read"
        else:
            operands.append(words[at - 1])
    if not scripts and operands:
        scripts.append(operands[0].text)
    return "" if scripts and all(map(sed_script_reads, scripts)) else "sed's script is not known to only read"


def sed_script_reads(script: str) -> bool:
    """Whether every command of a sed script only reads and prints."""
    if FETCHED in script or script.strip() in {UNKNOWN, ""}:
        return not script.strip()
    at = 0
    while at < len(script):
        found = _ADDRESS.match(script, at)
        at = found.end() if found else at
        if at >= len(script):
            return True
        command = script[at]
        at += 1
        if command in "{}":
            continue
        if command in "=dDgGhHnNpPxlqQzF":
            ended = re.compile(r"\s*\d*\s*(?=[;}\n]|$)").match(script, at)
            if ended is None:
                return False
            at = ended.end()
        elif command in "sy":
            at = _after_pattern(script, at, command)
            if at < 0:
                return False
        elif command in "btT:":
            at = _find_end(script, at, ";\n}" if command != ":" else ";\n")
        elif command in "aicrR#":
            if command in "rR" and "/dev/std" in script:
                return False
            at = _find_end(script, at, "\n")
        else:
            return False
    return True


def _find_end(text: str, at: int, ends: str) -> int:
    while at < len(text) and text[at] not in ends:
        at += 1
    return at


def _after_pattern(script: str, at: int, command: str) -> int:
    """Return where `s/…/…/flags` ends, -1 when it is not whole or its flags do more than print."""
    if at >= len(script) or script[at] in "\n\\":
        return -1
    delimiter, parts = script[at], 0
    at += 1
    while at < len(script) and parts < _PARTS:
        if script[at] == "\\":
            at += 1
        elif script[at] == delimiter:
            parts += 1
        at += 1
    if parts < _PARTS:
        return -1
    flags = _SED_FLAGS.match(script, at)
    end = flags.end() if flags and command == "s" else at
    ended = re.compile(r"\s*(?=[;}\n#]|$)").match(script, end)
    return ended.end() if ended else -1


_AWK_ALONE: Final = re.compile(r"--(?:posix|re-interval|traditional|csv|version|help)|-[PcrkbS]")
_AWK_TOKEN: Final = re.compile(
    r"""(?P<comment>\#[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*")|(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)"""
    r"""|(?P<blank>[ \t\r]+|\\\n)|(?P<sign>\|\||\|&|>>|>=|<=|==|!=|&&|\+\+|--|.|\n)""",
    re.DOTALL,
)
_AWK_REGEX: Final = re.compile(r"/(?:\\.|\[\]?[^\]\n]*\]|[^/\\\n])*/")
# After these a slash begins a pattern. Where it might also divide it is taken to divide, so that what follows is seen.
_BEFORE_REGEX: Final = frozenset({"", "(", ",", "!", "~", "{", "}", ";", "\n", "&&", "||"})
_AWK_FORBIDDEN: Final = frozenset({"system", "load", "include"})


def awk_executes(words: tuple[Word, ...]) -> str:
    """Return "" when an awk command only reads, else what keeps it from that."""
    at = 1
    while at < len(words):
        text = words[at].text
        if text in {"-F", "-v", "--field-separator", "--assign"}:
            at += 2
        elif re.match(r"-[Fv].|--(?:field-separator|assign)=", text) or _AWK_ALONE.fullmatch(text):
            at += 1
        elif text == "--":
            at += 1
            break
        elif text.startswith("-"):
            return "awk with an option that is not known to only read"
        else:
            break
    if at >= len(words):
        return "awk without a program"
    program = words[at].text
    if UNKNOWN in program or FETCHED in program:
        return "awk's program is not known"
    return "" if awk_program_reads(program) else "awk's program is not known to only read"


def awk_program_reads(program: str) -> bool:
    """Whether an awk program neither runs a command nor writes a file."""
    at, before, depth, printing = 0, "", 0, -1
    while at < len(program):
        pattern = _AWK_REGEX.match(program, at) if program[at] == "/" and before in _BEFORE_REGEX else None
        if pattern is not None:
            at, before = pattern.end(), "/"
            continue
        found = _AWK_TOKEN.match(program, at)
        if found is None:
            return False
        kind, text = found.lastgroup, found.group()
        at = found.end()
        if kind in {"blank", "comment"}:
            continue
        if kind == "word":
            if text in _AWK_FORBIDDEN:
                return False
            if text in {"print", "printf"}:
                printing = depth
        elif kind == "sign":
            if text in {"|", "|&", ">>", "@"} or (text == ">" and printing >= 0 and depth <= printing):
                return False
            depth += (text in "([{") - (text in ")]}")
            if text in {";", "\n", "}"} and depth <= max(printing, 0):
                printing = -1
        before = text
    return True
