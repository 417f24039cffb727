"""Reading is a list of exact forms: whatever stands beside one, or may come to stand there, makes a command ask."""

import json
from pathlib import Path

import pytest

from host.passport import Effect
from host.policy.shell.analysis import analyse
from host.policy.shell.languages import awk_program_reads, sed_script_reads
from host.policy.shell.options import Options
from host.policy.shell.programs import FREE, LISTED

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[4] / "cases" / "shell_forms.jsonl").read_text(encoding="utf-8").splitlines()
]


def reads(text: str) -> bool:
    """Return whether a text runs without a question."""
    return analyse(text).effect is Effect.READ


@pytest.mark.parametrize("kind", sorted({row["kind"] for row in ROWS}))
@pytest.mark.clause("POL-5")
def test_no_form_beside_the_listed_ones_counts_as_reading(kind: str) -> None:
    """Options of each program's help that are not listed, abbreviations, clusters, places, patterns, unknown words."""
    of_kind = [row["command"] for row in ROWS if row["kind"] == kind]
    allowed = [command for command in of_kind if reads(command)]
    assert len(of_kind) >= 20
    assert not allowed


@pytest.mark.parametrize(
    "text",
    [
        "xxd -l $u -s a b",
        "xxd -l$u -s a b",
        "date -d $u -r 0101",
        "find . -name $u -name -delete",
        "git -C $u log gc",
        "awk -v $u 'x=1' 'BEGIN{system(1)}'",
        "read -p $u -d PATH",
    ],
)
@pytest.mark.clause("POL-5")
def test_a_value_that_may_come_to_nothing_is_no_value(text: str) -> None:
    """Unset and outside quotes it vanishes, and the word behind it is the value instead."""
    assert not reads(text)


@pytest.mark.parametrize(
    "text",
    [
        "cat *",
        "grep -rn x *",
        "wc -l *.py",
        "head -20 *",
        "git log -- *.py",
        "sed -n 5p -- *.txt",
        "awk '{print $2}' *.log",
        "sort -- *.csv",
        "rg foo ./*",
        'git log --format="$x"',
        'sort -k "$n" f',
        'find . -name "$x"',
        "git branch --list 'f*'",
        "git tag -n5",
        "git config --global --get user.name",
        "fd -e rs -x wc -l",
        "split --help",
        "python3 --version",
        "xmllint --format a.xml",
        "stty -a",
        "tar tzf a.tgz",
        "tar --list -f a.tar",
        "gzip -dc a.gz",
        "ip route get 192.0.2.1",
        "date '+%F %T'",
        "kubectl get pods -n x -o wide",
        "awk '{ print $1 > \"/dev/stderr\" }' f",
        'sed -n "$((n + 1))p" f',
        "find . -name '*.py' -exec grep -n x {} +",
    ],
)
@pytest.mark.clause("POL-5")
def test_everyday_forms_read(text: str) -> None:
    """Patterns and unknown words stop nothing where no option does harm, or none can stand."""
    assert reads(text)


@pytest.mark.parametrize("entry", [*FREE.values(), *LISTED.values()], ids=[*FREE, *LISTED])
def test_an_entry_names_letters_and_long_options_once_each(entry: Options) -> None:
    """A long option among the letters would admit each of its letters."""
    assert all(kind in {"", ":", "::"} and len(letter) == 1 for letter, kind in entry.letters.items())
    assert all(kind in {"", "=", "[="} for kind in entry.longs.values())


@pytest.mark.parametrize(
    "script", ["p;w f", "s/a/b/e", "ba w f", "s/[/]/x/w f/", "1e", "r f", "a\\\nx", "s/a\n/b/", "\\,a,p", "{w f\n}"]
)
def test_sed_outside_its_small_part_is_not_recognised(script: str) -> None:
    """Labels, texts, files and what two seds would read otherwise."""
    assert not sed_script_reads(script)


@pytest.mark.parametrize(
    "program",
    [
        'BEGIN { x = /"/; print "x" > "f"; y = /"/ }',
        'BEGIN { if (1) /"/; print "x" > "f"; /"/ }',
        '{ x++ /"/; print > "f"; y++ /"/ }',
        'BEGIN { print 1,\n2 > "f" }',
        'BEGIN { print > "/dev/stderr" NR }',
        'BEGIN { f = "system"; @f("x") }',
        '{ "x" | getline }',
    ],
)
def test_awk_whose_slashes_or_redirections_are_in_doubt_is_not_recognised(program: str) -> None:
    """A slash divides or begins a pattern; where awks may differ, nothing is promised."""
    assert not awk_program_reads(program)
