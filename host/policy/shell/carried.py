"""Commands that ride in the options, variables and one-liners of other programs.

The programs themselves are execute anyway; what is found here is judged beside them, so that the floor and denials see
it. It may find too little (no scan of another language is whole), never too much to matter.
"""

import re
import shlex
from itertools import islice
from typing import Final

from host.policy.shell.word import Word
from host.policy.shell.wrappers import base_name

_OPTIONS: Final[dict[str, re.Pattern[str]]] = {
    "sort": re.compile(r"--comp[a-z-]*(?:=(.*))?", re.DOTALL),
    "rg": re.compile(r"--(?:pre|hostname-bin)(?:=(.*))?", re.DOTALL),
    "man": re.compile(r"(?:-P|--pager=?|-H|--html=?)(.*)", re.DOTALL),
    "bat": re.compile(r"--pager(?:=(.*))?", re.DOTALL),
    "git": re.compile(
        r"(?:--(?:upload-pack|receive-pack|exec|open-files-in-pager|extcmd)=?|-x)(.*)|(?i:[\w.-]*(?:pager|editor|command|external|textconv|fsmonitor|hookspath|helper|program|cmd|process|clean|smudge))=!?(.*)",
        re.DOTALL,
    ),
    "tar": re.compile(
        r"(?:--checkpoint-action=exec=?|--to-comm\w*=?|--use-comp[\w-]*=?|-I|--rsh-c[\w-]*=?|-F|--(?:info|new-volume)-script=?)(.*)",
        re.DOTALL,
    ),
    "rsync": re.compile(r"(?:-e|--rsh=?|--rsync-path=?)(.*)", re.DOTALL),
    "split": re.compile(r"--filt?e?r?(?:=(.*))?", re.DOTALL),
    "install": re.compile(r"--strip-p[a-z]*(?:=(.*))?", re.DOTALL),
    "ssh": re.compile(r"(?:-o)?(?:Proxy|Local)Command[= ]?(.*)", re.DOTALL),
    "scp": re.compile(r"(?:-o)?ProxyCommand[= ]?(.*)|-S(.*)", re.DOTALL),
    "vim": re.compile(r"(?:-c|\+|--cmd)?[: ]*!(.*)", re.DOTALL),
    "less": re.compile(r"\+!(.*)", re.DOTALL),
    "sed": re.compile(
        r"(?:[\d$,]*|/[^/]*/)\s*(?:e\s+(.*)|s(?P<d>[/|,#@!:])(?:(?!(?P=d)).)*(?P=d)((?:(?!(?P=d)).)*)(?P=d)[gpiI\d]*e.*)",
        re.DOTALL,
    ),
    "make": re.compile(r"SHELL=(.*)", re.DOTALL),
}
_SAME: Final = {
    "vi": "vim",
    "nvim": "vim",
    "view": "vim",
    "ex": "vim",
    "gsort": "sort",
    "bsdtar": "tar",
    "gtar": "tar",
    "sftp": "scp",
}
# Every repetition is bounded, so that no text makes the search come back to the same place more than so many times.
_CALLS: Final = re.compile(
    r"(?:system|popen|exec\w{0,9}|call|run|check_output|getoutput|spawn\w{0,9}|shell_exec|passthru|qx)"
    r"\s{0,9}\(?\s{0,9}\[?\s{0,9}(?P<quote>[\"'`{])(?P<text>(?:\\.|(?!(?P=quote)).){0,4096})"
    r"(?P<more>(?:(?P=quote)[\s,\[]{1,9}(?P=quote)(?:\\.|(?!(?P=quote)).){0,256}){0,16})",
    re.DOTALL,
)
# Quotes that run what stands in them, in perl, ruby and php.
_BACKQUOTED: Final = re.compile(
    r"`([^`]{1,4096})`|%x[({\[!|]([^)}\]!|]{1,4096})|\bqx\W([^)}\]!|/]{1,4096})"
    r"|\b(?:system|exec)\s{0,9}\(?\s{0,9}qw\W([^)}\]!|>]{1,4096})"
)
_BACKQUOTING: Final = re.compile(r"(?:perl|ruby|php|lua|julia)[\d.]*")
_ALIAS: Final = re.compile(r"alias\.[\w-]+(?:=(.*))?", re.DOTALL | re.IGNORECASE)
_REMOVALS: Final = re.compile(
    r"(?:rmtree|rm_rf?|rmSync|rmdirSync|rmdir|remove_tree|remove_dir_all|removeSync|rimraf|unlinkdir)"
    r"\s{0,9}\(?\s{0,9}[rb]?(?P<quote>[\"'`])(?P<text>[^\"'`\n]{1,4096})(?P=quote)",
)
MOST_TEXTS: Final = 200  # of one command; where there are more, its floor cannot be told
_PROGRAMS: Final = re.compile(
    r"(?:python|pypy|perl|ruby|node|php|lua|deno|bun|awk|gawk|mawk|Rscript|tclsh|osascript|expect)[\d.]*"
)
_FOREACH: Final = frozenset({"foreach", "run"})


def carried_texts(words: tuple[Word, ...], assignments: tuple[tuple[str, Word], ...]) -> list[str]:
    """Return the shell texts that a command's options, variables or program hold."""
    texts = [
        value.text
        for name, value in assignments
        if value.text != "cat" and re.search(r"PAGER|EDITOR|COMMAND|SSH|ASKPASS|PROXY|LESSOPEN|EXTERNAL", name)
    ]
    if not words:
        return texts
    name = base_name(words[0].text)
    pattern = _OPTIONS.get(_SAME.get(name, name))
    if pattern is not None:
        for at, word in enumerate(words[1:], 1):
            found = pattern.fullmatch(word.text)
            if found is None:
                continue
            value = next((group for group in reversed(found.groups()) if group), "")
            texts.append(value or (words[at + 1].text if at + 1 < len(words) else ""))
        if name == "git" and (at := next((i for i, word in enumerate(words) if word.text in _FOREACH), 0)):
            texts.append(" ".join(word.text for word in words[at + 1 :] if word.text not in {"--recursive", "-q"}))
        if name == "git":
            texts += _aliases([word.text for word in words])
    elif _PROGRAMS.fullmatch(name):
        for word in words[1:]:
            texts += [_said(found).replace("\\", "") for found in _CALLS.finditer(word.text)]
            if _BACKQUOTING.fullmatch(name):
                texts += [
                    next(filter(None, found.groups()))
                    for found in islice(_BACKQUOTED.finditer(word.text), MOST_TEXTS + 1)
                ]
            texts += [f"rm -rf {shlex.quote(found['text'])}" for found in _REMOVALS.finditer(word.text)]
    return list(dict.fromkeys(text for text in texts if text.strip()))


def _said(found: re.Match[str]) -> str:
    """Return what a call runs: a text, or a list of words."""
    words = [each for each in found["more"].split(found["quote"]) if each.strip(" \t\n,[")]
    return " ".join([found["text"], *words])


def _aliases(texts: list[str]) -> list[str]:
    """Return what git's aliases stand for, set on the command line or by `git config`."""
    found: list[str] = []
    for at, text in enumerate(texts):
        alias = _ALIAS.fullmatch(text)
        if alias is None:
            continue
        value = alias[1] if alias[1] is not None else " ".join(texts[at + 1 : at + 2])
        rest = " ".join(map(shlex.quote, texts[at + 2 :]))
        found.append(f"{value[1:]} {rest}" if value.startswith("!") else f"git {value} {rest}")
    return found
