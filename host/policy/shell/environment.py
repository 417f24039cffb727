"""Variables that a text may set and still only read: an allow-list, for nobody knows every name that rules something.

bash, the loader, git, pagers and hundreds of other programs take orders from variables, by names in capitals and by
`…_proxy`. So a name counts as the text's own when it begins with a small letter; of the others those few count that are
listed here, with plain values.
"""

import re
from typing import Final

from host.policy.shell.word import Word

# Small letters: no program known here takes orders from such a name but by these.
_OWN: Final = re.compile(r"(?!\w*_(?i:proxy)$|npm_|(?:path|cdpath|fpath|manpath|histchars|auto_resume|ifs)$)[a-z_]\w*")
# Names in capitals that scripts give their own variables, and that rule nothing.
_CAPITALS: Final = frozenset(
    """
    FILE FILES DIR DIRS NAME NAMES COUNT TOTAL RESULT RESULTS PATTERN LINE WORD START END SRC DST BRANCH COMMIT KEY
    VALUE TEXT ITEM FOO BAR BAZ LOG LOGS LOGFILE LOG_FILE IN OUT INPUT OUTPUT ROOT BASE TARGET PORT URL VERSION NUM MAX
    MIN LIMIT SIZE TYPE TAG HASH SHA OLD NEW LEFT RIGHT TODAY DATE NOW YEAR MONTH DAY DEBUG VERBOSE QUIET CI TEST TESTS
    STATUS
    """.split()  # noqa: SIM905 - one list a line is not to be read
)
# Language, time and colours: they change how something is shown. A path in a language's name is looked up, so no slash.
_SHOWING: Final = re.compile(
    r"(?:LC_[A-Z]+|LANG|LANGUAGE|NO_COLOR|CLICOLOR(?:_FORCE)?|FORCE_COLOR|COLUMNS|LINES|TERM|GREP_COLORS?)"
    r"=[\w.,:;=+@ -]*"
    r"|TZ=[\w:+/-]*|(?:GIT_)?PAGER=(?:cat|)|GIT_(?:OPTIONAL_LOCKS|TERMINAL_PROMPT)=[01]",
)
# `IFS=, read a b` sets it for this `read` alone; what it reads is unknown text anyway.
_SPLITTING: Final = frozenset({"read", "mapfile", "readarray"})


def ruling(assignments: tuple[tuple[str, Word], ...], command: str = "") -> str:
    """Return the first variable set for `command` that may rule what runs, "" when none does."""
    for name, value in assignments:
        if not rules(name) or (name == "IFS" and command in _SPLITTING):
            continue
        if not _SHOWING.fullmatch(f"{name}={value.text}"):
            return name
    return ""


def rules(name: str) -> bool:
    """Whether a variable of that name may rule what runs."""
    return not (_OWN.fullmatch(name) or name in _CAPITALS or (len(name) == 1 and name.isalpha() and name.isascii()))
