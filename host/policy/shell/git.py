"""Which git commands only read.

git runs programs that its configuration names (`diff.external`, `core.fsmonitor`, pagers, aliases). What the command
line sets so is execute here. What the repository's own configuration sets is not looked at: `git status` itself may run
a program by it, so the line would be drawn through every git command; the sandbox is the boundary there.
"""

import re
from collections.abc import Callable
from typing import Final

from host.policy.shell.word import Word

_READING: Final = frozenset(
    [
        "status",
        "log",
        "diff",
        "show",
        "rev-parse",
        "ls-files",
        "ls-tree",
        "blame",
        "annotate",
        "shortlog",
        "describe",
        "cat-file",
        "rev-list",
        "name-rev",
        "merge-base",
        "for-each-ref",
        "show-ref",
        "show-branch",
        "count-objects",
        "check-ignore",
        "check-attr",
        "diff-tree",
        "diff-index",
        "diff-files",
        "cherry",
        "whatchanged",
        "grep",
        "var",
        "version",
        "range-diff",
        "verify-commit",
        "verify-tag",
        "merge-tree",
    ],
)
_EXECUTING: Final = re.compile(
    r"--(?:out.*|ext-d.*|textc.*|open.*|upload-p.*|receive-p.*|exec.*|filters|batch-command.*)|-O.*",
)
_GLOBAL_ALONE: Final = frozenset(
    {
        "--no-pager",
        "-P",
        "--no-optional-locks",
        "--literal-pathspecs",
        "--no-replace-objects",
        "--bare",
        "--version",
        "--help",
    },
)
_HARMLESS_KEY: Final = re.compile(
    r"(?:color\.\w+|core\.(?:quotepath|abbrev)|advice\.\w+|log\.\w+|column\.\w+|diff\.(?:renames|context|noprefix|mnemonicprefix|algorithm))=.*",
    re.IGNORECASE,
)
_LISTING: Final = re.compile(
    r"-(?:[arvl]+|vv)|--(?:list|all|remotes|verbose|contains|merged|no-merged|points-at|sort|format|show-current|no-color|color|column|no-contains|ignore-case)(?:=.*)?|-n\d*"
)


def without_globals(words: tuple[Word, ...]) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """Return git's global options, and the sub-command with what follows it."""
    at = 1
    while at < len(words) and words[at].text.startswith("-"):
        at += (
            2
            if words[at].text in {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"}
            and "=" not in words[at].text
            else 1
        )
    return words[1:at], words[at:]


def why_not_reading(words: tuple[Word, ...]) -> str:
    """Return "" when a git command only reads, else what keeps it from that."""
    options, rest = without_globals(words)
    if why := _globals(options):
        return why
    if not rest:
        return "" if options else "git without a sub-command"
    if not rest[0].known:
        return "git's sub-command is not known"
    name, texts = rest[0].text, [word.text for word in rest[1:]]
    if any(_EXECUTING.fullmatch(text) for text in texts):
        return f"git {name} is given an option that writes or runs something"
    if any(
        word.could_be_option and not word.known and not word.text.startswith("--")
        for word in rest[1 : _first("--", rest)]
    ):
        return f"a word of git {name} may turn out to be an option"
    if name in _READING:
        return ""
    judge = _PARTLY.get(name)
    return "" if judge is not None and judge(texts) else f"git {name} is not known to only read"


def _first(text: str, words: tuple[Word, ...]) -> int:
    return next((at for at, word in enumerate(words) if word.text == text), len(words))


def _globals(options: tuple[Word, ...]) -> str:
    at = 0
    while at < len(options):
        text = options[at].text
        if text == "-C" or (
            text == "-c"
            and at + 1 < len(options)
            and options[at + 1].known
            and _HARMLESS_KEY.fullmatch(options[at + 1].text)
        ):
            at += 2
        elif text in _GLOBAL_ALONE:
            at += 1
        else:
            return f"git {text} may name a program to run"
    return ""


def _listing(texts: list[str]) -> bool:
    """Whether `branch` or `tag` only lists: no name to make, or an option that makes names a pattern."""
    if not texts:
        return True
    if not all(_LISTING.fullmatch(text) or not text.startswith("-") for text in texts):
        return False
    names = [text for text in texts if not text.startswith("-")]
    asks = {
        "-l",
        "--list",
        "-a",
        "-r",
        "--contains",
        "--merged",
        "--no-merged",
        "--points-at",
        "--no-contains",
        "--sort",
        "--format",
    }
    return not names or bool(asks & set(texts))


def _config(texts: list[str]) -> bool:
    scopes = {"--global", "--local", "--system", "--worktree", "-z", "--show-origin", "--show-scope", "--name-only"}
    asked = [text for text in texts if text not in scopes]
    if len(asked) == 1 and not asked[0].startswith("-") and "." in asked[0]:
        return True  # a key alone is shown
    return bool(asked) and (
        asked[0] in {"--get", "--get-all", "--get-regexp", "--list", "-l", "list", "get", "--get-urlmatch"}
    )


_PARTLY: Final[dict[str, Callable[[list[str]], bool]]] = {
    "branch": _listing,
    "tag": _listing,
    "config": _config,
    "remote": lambda texts: not texts or texts in (["-v"], ["--verbose"]) or texts[0] == "get-url",
    "stash": lambda texts: texts[:1] in (["list"], ["show"]),
    "reflog": lambda texts: not texts or texts[0] in {"show", "exists"} or texts[0].startswith("-"),
    "worktree": lambda texts: texts[:1] == ["list"],
    "submodule": lambda texts: not texts or texts[:1] == ["status"],
    "notes": lambda texts: texts[:1] in ([], ["list"], ["show"]),
    "bisect": lambda texts: texts[:1] in (["log"], ["view"]),
    "symbolic-ref": lambda texts: (
        len([text for text in texts if not text.startswith("-")]) == 1 and not {"-d", "--delete"} & set(texts)
    ),
    "lfs": lambda texts: texts[:1] in (["ls-files"], ["status"], ["version"]),
}
