"""Variables that change which program runs, or what a program that only reads does: setting one is no reading.

Names are matched closed-minded: what sounds like a path, a pager, an editor, options or something to load counts.
"""

import re
from typing import Final

from host.policy.shell.word import Word

_RULING: Final = re.compile(
    r"(?:\w*PATH|LD_\w+|DYLD_\w+|BASH_ENV|BASHOPTS|SHELLOPTS|BASH_FUNC\w*|ENV|IFS|PS[0-4]|PROMPT_COMMAND|SHELL|HOME|CDPATH"
    r"|GIT_\w+|\w*PAGER|\w*EDITOR|VISUAL|BROWSER|LESS\w*|MAN\w*OPT|\w*(?:OPTIONS|OPTS|FLAGS|PRELOAD|STARTUP|HOOK|CONFIG\w*|LIB)"
    r"|PERL\w+|PYTHON\w+|RUBY\w+|NODE_OPTIONS|RIPGREP_\w+|XDG_\w+|GCONV\w*|LOCALDOMAIN|RES_OPTIONS|TERMINFO\w*|TERMCAP"
    r"|TMPDIR|COMSPEC|GLIBC_TUNABLES|MALLOC_\w+|HISTFILE|http_proxy|https_proxy|ALL_PROXY|EXECIGNORE|FPATH|ZDOTDIR)",
)
_HARMLESS: Final = re.compile(
    r"(?:GIT_)?PAGER=(?:cat|)|GIT_(?:OPTIONAL_LOCKS|TERMINAL_PROMPT)=[01]|GREP_COLORS?=.*|IFS=\W*", re.DOTALL
)


def ruling(assignments: tuple[tuple[str, Word], ...]) -> str:
    """Return the first variable set here that rules what runs, "" when none does."""
    for name, value in assignments:
        if _RULING.fullmatch(name) and not _HARMLESS.fullmatch(f"{name}={value.text}"):
            return name
    return ""


def rules(name: str) -> bool:
    """Whether a variable of that name rules what runs."""
    return bool(_RULING.fullmatch(name))
