"""Which commands provably only read: a closed table of exact forms; whatever is outside it makes a command execute.

`programs` holds the programs whose options alone decide, `particular` those whose words have an order, `shell_builtins`
the shell's own, `languages` sed and awk, `git` git. Programs that read what configuration in the workspace names (git's
drivers, npm's settings) count as reading: the sandbox bounds them, and asking about every `git diff` would only teach
people to agree.
"""

from collections.abc import Callable
from typing import Final

from host.policy.shell import dashed, git, languages, particular, shell_builtins
from host.policy.shell.options import outside
from host.policy.shell.programs import ANYTHING, ASKED, ASKED_OTHERWISE, FREE, LISTED, VERSIONED
from host.policy.shell.word import UNKNOWN, Word
from host.policy.shell.wrappers import system_name

_WITH_ONE: Final = 2  # words: a name and one argument
_FD_RUNS: Final = frozenset({"-x", "-X", "--exec", "--exec-batch"})
# What a name begins with that these fetch from another machine. A name that is not known may be one; that is left to
# the sandbox, as nothing counts as reading where none keeps a command from the network.
_ADDRESSES: Final = ("http:", "https:", "ftp:")
_FAR: Final = {
    "xmllint": _ADDRESSES,
    "rpm": _ADDRESSES,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), ("/inet/", "/inet4/", "/inet6/")),
}
_PREFIXES: Final = frozenset(key.partition(" ")[0] for key in LISTED)


def why_not_reading(words: tuple[Word, ...]) -> str:
    """Return "" when a command provably only reads, else what keeps it from that, in words."""
    name = system_name(words[0].text)
    if _is_asked(name, words):
        return ""
    if (far := _FAR.get(name)) and any(word.text.lower().startswith(far) for word in words[1:]):
        return f"what {name} reads is on another machine"
    judge = _JUDGES.get(name)
    if judge is not None:
        return judge(words)
    if name in ANYTHING:
        return ""
    entry = FREE.get(name) or LISTED.get(name)
    if entry is not None:
        return outside(name, words[1:], entry)
    if len(words) > 1 and words[1].known:
        sub = f"{name} {words[1].text}"
        entry = LISTED.get(sub)
        if entry is not None:
            return outside(sub, words[2:], entry)
    return f"{name} is not known to only read"


def is_program(name: str) -> bool:
    """Whether the tables speak of a program of that name, so that a function of the same name would be another."""
    return (
        name in _JUDGES or name in ANYTHING or name in FREE or name in LISTED or name in VERSIONED or name in _PREFIXES
    )


def _is_asked(name: str, words: tuple[Word, ...]) -> bool:
    """Whether a program is asked for its version or its help, and for nothing else."""
    if len(words) != _WITH_ONE or not words[1].known:
        return False
    text = words[1].text
    if text in ASKED_OTHERWISE.get(name, ()):
        return True
    return text in ASKED and (name in VERSIONED or name in FREE or name in LISTED)


def _fd(words: tuple[Word, ...]) -> str:
    """`fd … -x COMMAND`: both have to read; what it finds stands for `{}`, or behind the command."""
    at = next((at for at, word in enumerate(words) if word.known and word.text in _FD_RUNS), len(words))
    why = outside("fd", words[1:at], LISTED["fd"])
    if why or at == len(words):
        return why
    inner = tuple(Word(UNKNOWN, False) if "{" in word.text else word for word in words[at + 1 :])
    if not inner or any(word.text == ";" or not word.known for word in inner if word.text != UNKNOWN):
        return "fd runs what is not known"
    return why_not_reading((*inner, Word(UNKNOWN, False)))


_JUDGES: Final[dict[str, Callable[[tuple[Word, ...]], str]]] = {
    **shell_builtins.JUDGES,
    **particular.JUDGES,
    **dashed.JUDGES,
    "fd": _fd,
    "fdfind": _fd,
    "git": git.why_not_reading,
    "sed": languages.sed_writes,
    "awk": languages.awk_executes,
    "gawk": languages.awk_executes,
    "mawk": languages.awk_executes,
    "nawk": languages.awk_executes,
}
