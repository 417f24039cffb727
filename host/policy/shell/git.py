"""Which git commands only read: exact forms of the sub-commands that show.

git runs programs that its configuration names (`diff.external`, `core.fsmonitor`, pagers, aliases). What the command
line sets so is execute here. What the repository's own configuration sets is not looked at: `git status` itself may run
a program by it, so the line would be drawn through every git command; the sandbox is the boundary there.
"""

import re
from collections.abc import Callable
from typing import Final

from host.policy.shell.options import Options, entries_of, may_be_option, may_vanish, outside, split
from host.policy.shell.word import FETCHED, UNKNOWN, Word

_DIFF: Final = """\
pusRawbzcmqWBDrtU:S:G:l:M::C::X:: patch no-patch raw stat[= numstat shortstat dirstat[= summary patch-with-stat
  patch-with-raw name-only name-status color[= no-color color-moved[= no-color-moved word-diff[= word-diff-regex=
  color-words[= renames no-renames find-renames[= find-copies[= find-copies-harder full-index binary abbrev[= no-abbrev
  ignore-space-at-eol ignore-all-space ignore-blank-lines ignore-space-change ignore-cr-at-eol ignore-submodules[=
  function-context relative[= no-relative text exit-code check quiet pickaxe-regex pickaxe-all diff-filter= no-ext-diff
  no-textconv no-prefix src-prefix= dst-prefix= line-prefix= inter-hunk-context= unified= patience minimal histogram
  diff-algorithm= compact-summary submodule[= cc root first-parent no-indent-heuristic stat-width= stat-count= cached
  staged merge-base no-index"""
_LOG_LETTERS: Final = "n:iEFPgL:h"
_LOG: Final = """\
  !numbers oneline graph decorate[= no-decorate decorate-refs= all branches[= tags[= remotes[= glob= exclude= max-count=
  skip= since= after= until= before= author= committer= grep= all-match invert-grep regexp-ignore-case extended-regexp
  fixed-strings perl-regexp basic-regexp pretty[= format= abbrev-commit no-abbrev-commit date= relative-date reverse
  follow merges no-merges min-parents= max-parents= left-right cherry-pick cherry-mark cherry left-only right-only
  topo-order date-order author-date-order walk-reflogs no-walk[= source simplify-by-decoration ancestry-path[= parents
  children boundary not notes[= no-notes full-diff full-history diff-merges= no-diff-merges encoding= count objects"""
# An order file (-O), an output file, textconv, external diffs, signatures (they run gpg) are in none of them.
_SHOWING: Final[dict[str, Options]] = entries_of(
    f"""\
diff, diff-tree, diff-index, diff-files, range-diff: {_DIFF}
log, show, whatchanged, rev-list, stash list, stash show, reflog, reflog show: {_LOG_LETTERS}{_DIFF}
{_LOG}
shortlog: snec !numbers summary numbered email committer group= format= all branches[= tags[= since= after= until=
  before= author= no-merges merges max-count= first-parent
status: sbvu::z short branch porcelain[= long verbose show-stash untracked-files[= ignored[= ignore-submodules[=
  column[= no-column ahead-behind no-ahead-behind renames no-renames find-renames[= null
rev-parse: q abbrev-ref[= short[= verify quiet show-toplevel git-dir git-common-dir absolute-git-dir is-inside-work-tree
  is-inside-git-dir is-bare-repository is-shallow-repository show-prefix show-cdup show-superproject-working-tree
  symbolic symbolic-full-name all branches[= tags[= remotes[= revs-only no-revs default= path-format= git-path=
  show-object-format[= since= until= not
ls-files: cdmosuikztvx:X: cached deleted modified others stage unmerged killed ignored exclude= exclude-from=
  exclude-standard exclude-per-directory= error-unmatch full-name abbrev[= eol deduplicate recurse-submodules directory
  no-empty-directory with-tree= format=
ls-tree: drtlz name-only name-status long full-name full-tree abbrev[= object-only format=
blame, annotate: L:ltsefnpwM::C::hcb porcelain line-porcelain show-name show-number show-email date= since= reverse
  first-parent root ignore-rev= abbrev= color-lines color-by-age incremental
describe: - tags all always long abbrev= exact-match contains dirty[= broken[= match= exclude= first-parent candidates=
cat-file: ptse batch[= batch-check[= buffer follow-symlinks
name-rev: - tags refs= all name-only always no-undefined
merge-base: a all octopus independent is-ancestor fork-point
for-each-ref: - count= sort= format= contains= no-contains= merged= no-merged= points-at= color[= ignore-case omit-empty
show-ref: dsq heads tags head dereference verify quiet hash[= abbrev[= exists branches
count-objects: vH verbose human-readable
check-ignore: vnqz stdin no-index verbose non-matching quiet
check-attr: az all stdin cached
cherry: v verbose abbrev[=
var: l
version: - build-options
grep: aiInlLcwvhHEGFPpWqzre:f:A:B:C:m: !numbers text ignore-case word-regexp invert-match files-with-matches name-only
  files-without-match count line-number column only-matching heading break all-match quiet cached untracked no-index
  no-exclude-standard exclude-standard recursive no-recursive max-depth= threads= perl-regexp extended-regexp
  basic-regexp fixed-strings null color[= no-color show-function function-context context= after-context=
  before-context= max-count= and or not full-name
branch: arvliq all remotes verbose list show-current merged= no-merged= contains= no-contains= points-at= sort= format=
  color[= no-color column[= no-column abbrev[= no-abbrev ignore-case omit-empty
tag: ln::i list merged= no-merged= contains= no-contains= points-at= sort= format= color[= no-color column[= no-column
  ignore-case omit-empty
remote: v !0 verbose
remote get-url: - !1 all push
worktree list: vz !0 verbose porcelain
submodule: - !0
submodule status: - recursive cached
notes: - !0
notes list, notes show: - !1
bisect log, lfs ls-files, lfs status, lfs version: - !0
symbolic-ref: q !1 short quiet
reflog exists: - !1
""",
)
_GLOBAL_ALONE: Final = frozenset(
    {"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--bare"},
)
_HARMLESS_KEY: Final = re.compile(
    r"(?:color\.\w+|core\.(?:quotepath|abbrev)|log\.(?:date|decorate|abbrevcommit)|column\.\w+"
    r"|diff\.(?:renames|context|noprefix|mnemonicprefix|algorithm))=.*",
    re.IGNORECASE,
)
_LISTS: Final = re.compile(r"-[arvi]*l[arvi]*|--(?:list|(?:no-)?merged|(?:no-)?contains|points-at)(?:=.*)?|-n\d*")
_REFLOG_CHANGES: Final = frozenset({"expire", "delete", "drop", "write"})
_FORMATS: Final = frozenset({"--format", "--pretty", "--sort"})
_SIGNATURE: Final = re.compile(r"%[-+ ]?G|signature")
_CONFIG_SCOPES: Final = frozenset(
    {"--global", "--local", "--system", "--worktree", "-z", "--null", "--show-origin", "--show-scope", "--name-only"}
    | {"--includes", "--type=bool", "--type=int", "--type=path", "--bool", "--int", "--path"},
)
_CONFIG_ASKS: Final = {"--get": 2, "--get-all": 2, "--get-regexp": 2, "--list": 0, "-l": 0, "list": 0, "get": 1}


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
        return "git without a sub-command"
    if not rest[0].known:
        return "git's sub-command is not known"
    if _signed(rest):
        return "git runs gpg to tell of signatures"
    name = rest[0].text
    judge = _PARTLY.get(name)
    if judge is not None:
        return judge(rest)
    sub = f"{name} {rest[1].text}" if len(rest) > 1 and rest[1].known else ""
    if sub in _SHOWING:
        return outside(f"git {sub}", rest[2:], _SHOWING[sub])
    if name in _SHOWING:
        return outside(f"git {name}", rest[1:], _SHOWING[name])
    return f"git {name} is not known to only read"


def _globals(options: tuple[Word, ...]) -> str:
    at = 0
    while at < len(options):
        option, value = options[at], options[at + 1] if at + 1 < len(options) else Word("-")
        if not option.known:
            return "an option of git is not known"
        goes = option.text == "-C" and not (value.text.startswith("-") or may_be_option(value) or may_vanish(value))
        sets = option.text == "-c" and value.known and bool(_HARMLESS_KEY.fullmatch(value.text))
        if not (goes or sets or option.text in _GLOBAL_ALONE):
            return f"git {option.text} may name a program to run"
        at += 2 if goes or sets else 1
    return ""


def _listing(words: tuple[Word, ...]) -> str:
    """`branch` and `tag` list when no name is given, or an option makes names a pattern; else a name is made."""
    name = words[0].text
    operands, why = split(f"git {name}", words[1:], _SHOWING[name])
    if why or not operands:
        return why
    before = words[1 : next((at for at, word in enumerate(words) if word.text == "--"), len(words))]
    lists = any(word.known and _LISTS.fullmatch(word.text) for word in before)  # no value starts with a dash
    return "" if lists else f"git {name} makes what it names"


def _config(words: tuple[Word, ...]) -> str:
    if not all(word.known for word in words):
        return "what git config is given is not known"
    asked = [word.text for word in words[1:] if word.text not in _CONFIG_SCOPES]
    if not asked:
        return "git config without a question"
    most = _CONFIG_ASKS.get(asked[0])
    if most is None:  # a key alone is shown
        return "" if len(asked) == 1 and re.fullmatch(r"\w[\w.*/:-]*\.[\w-]+", asked[0]) else "git config may set"
    fine = len(asked) - 1 <= most and not any(text.startswith("-") for text in asked[1:])
    return "" if fine else "git config may set"


def _symbolic_ref(words: tuple[Word, ...]) -> str:
    return outside("git symbolic-ref", words[1:], _SHOWING["symbolic-ref"])


def _reflog(words: tuple[Word, ...]) -> str:
    if any(word.text in _REFLOG_CHANGES for word in words[1:]):
        return "git reflog may remove entries"
    # git takes the first word that is no option for a sub-command, also behind an option that takes a value
    first = next((at for at, word in enumerate(words[1:], 1) if not word.text.startswith("-")), len(words))
    if not all(word.known for word in words[1 : first + 1]):
        return "git reflog's sub-command is not known"
    exists = len(words) > 1 and words[1].text == "exists"
    return outside("git reflog", words[1 + exists :], _SHOWING["reflog exists" if exists else "reflog"])


def _signed(words: tuple[Word, ...]) -> bool:
    """Whether what is shown may hold a signature's state: git runs gpg for it."""
    for at, word in enumerate(words):
        option, equals, value = word.text.partition("=")
        if option in _FORMATS:
            text = value if equals else words[at + 1].text if at + 1 < len(words) else ""
            if _SIGNATURE.search(text) or UNKNOWN in text or FETCHED in text:
                return True
    return False


_PARTLY: Final[dict[str, Callable[[tuple[Word, ...]], str]]] = {
    "branch": _listing,
    "tag": _listing,
    "config": _config,
    "symbolic-ref": _symbolic_ref,
    "reflog": _reflog,
}
