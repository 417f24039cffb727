"""What a verdict on shell text costs, at 100 KB of nasty shapes: against the parser alone on the same text (POL-5).

The first row is a text of a line. `through the child` is the way that a group's texts go: wall-clock time, with handing
the text over and the verdict back.

`python -m tests.bench.shell [--json] [--kilobytes N] [--rounds N]` prints a table and asserts nothing about time. The
other time is the thread's own, the best of the rounds. `x half` is the cost against half the text: 2 is linear. A shape
that is given up is asked about; the table says so.
"""

import argparse
import random
import shlex
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
import tree_sitter

from host.gate.judging import Judging
from host.policy.shell.analysis import analyse
from host.policy.shell.syntax import language
from tests.bench.table import Column, show

COLUMNS: Final = (
    Column("shape", "shape"),
    Column("KB", "kilobytes", ".0f"),
    Column("ms", "milliseconds", ".1f"),
    Column("parser alone ms", "parser_milliseconds", ".1f"),
    Column("x parser", "ratio_to_parser", ".2f"),
    Column("x half", "ratio_to_half", ".2f"),
    Column("through the child ms", "child_milliseconds", ".1f"),
    Column("verdict", "verdict"),
)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One shape."""

    shape: str
    kilobytes: float
    milliseconds: float
    parser_milliseconds: float | None  # None where the parser alone would take minutes
    ratio_to_parser: float | None
    ratio_to_half: float
    child_milliseconds: float
    verdict: str  # the rule that decided


def filled(piece: str, size: int) -> str:
    """Repeat a piece up to a size."""
    return piece * (size // len(piece))


def different(size: int) -> str:
    """Return short commands of which hardly two are the same."""
    chance = random.Random(1)  # noqa: S311 - a bench wants the same text each time
    lines = (
        f"{chance.choice(['ls', 'cat', 'rm', 'grep'])} -{chance.randrange(10**5)} f{chance.randrange(10**4)}\n"
        for _ in range(size // 14)
    )
    return "".join(lines)[:size]


def shells(size: int) -> str:
    """Return shells within shells, as many as fit."""
    text = "ls"
    while len(inner := f"sh -c {shlex.quote(text)}") <= size:
        text = inner
    return text


SHAPES: Final[dict[str, Callable[[int], str]]] = {
    "one line": lambda _: "git status && grep -rn 'a b' src | sort -u > found.txt",
    "an ordinary script": lambda size: filled('if [ -f "$x" ]; then grep -n "a b" "$x" | sort -u; fi  # look\n', size),
    "one here-document": lambda size: "cat <<'E'\n" + filled("some <b>prose</b> of (a) page\n", size) + "E\n",
    "different short commands": different,
    "20,000 short commands": lambda size: filled("ls;\n", size),
    "one long pipeline": lambda size: "cat x" + filled(" | cat", size),
    "nested $(": lambda size: "echo " + "$(" * (size // 3) + "ls" + ")" * (size // 3),
    "braces": lambda size: "{" * size,
    "quotes": lambda size: "echo " + filled("'a' \"b\" ", size),
    "50,000 words": lambda size: "echo " + filled("a ", size),
    "shells in shells": shells,
    "here-documents": lambda size: filled("cat <<E\nx $y\nE\n", size),
    "backslashes": lambda size: "echo " + "\\a" * (size // 2),
    "a chain of xargs": lambda size: filled("xargs ", size) + "ls",
    "comments": lambda size: filled("# it's a comment\n", size),
    "a call and blanks": lambda size: "perl -e 'run" + " " * size + "'",
    "calls": lambda size: "python3 -c '" + filled('system("', size) + "'",
    "removals": lambda size: "python3 -c '" + filled("rmtree          ", size) + "'",
    "names of calls": lambda size: "python3 -c '" + filled("exec", size) + "'",
    "a fork and blanks": lambda size: "perl -e 'while" + " " * size + "'",
    "braces of parallel": lambda size: "parallel '" + filled("{", size) + "'",
    "commas in a brace": lambda size: "echo {" + "," * size,
    "subscripts": lambda size: "echo " + filled("a[", size) + "; test x",
    "open $(": lambda size: filled("$(", size),
    "lines that go on": lambda size: filled("a\\\nb ", size),
    "ends of lines": lambda size: filled("\\\n", size),
    "open ${": lambda size: filled("${a[", size),
    "nested $((": lambda size: "echo " + "$((" * (size // 5) + "1" + "))" * (size // 5),
    "nested [[": lambda size: filled("[[ $( ", size // 2) + "ls" + filled(") ]]", size // 2),
    "tests": lambda size: filled("[ $x = y ] && ", size) + "ls",
    "growing values": lambda size: "x0=a; " + "; ".join(f"x{at + 1}=$x{at}$x{at}" for at in range(size // 14)),
    "many values": lambda size: "; ".join(f"x=v{at}" for at in range(size // 7)) + "; echo $x$x",
    "many variables": lambda size: "rm -r " + filled("$x ", size),
    "functions in functions": lambda size: filled("f() { ", size) + "ls" + " ;}" * (size // 6),
    "finds that run": lambda size: "find " + filled("a ", size // 2) + filled("-exec ls {} \\; ", size // 2),
    "lines for xargs": lambda size: "echo " + filled("a ", size) + "| xargs -I{} rm {}",
    "evals": lambda size: filled("eval ", size) + "ls",
    "outputs in outputs": lambda size: filled('echo "$(echo "$(echo "$(ls)")")"; ', size),
    "programs behind a program": lambda size: "unheard-of " + filled("sudo ", size),
    "a text that is run": lambda size: "tmux new '" + filled("rm a ", size) + "'",
    "nonsense": lambda size: filled(')"', size),
    "a wrong sign": lambda size: "<" * size,
}
SLOW_ALONE: Final = frozenset({"nonsense", "a wrong sign"})


def milliseconds(work: Callable[[], object], rounds: int, clock: Callable[[], float] = time.thread_time) -> float:
    """Return the least time that a piece of work took this thread, or by another clock."""
    best = float("inf")
    for _ in range(rounds):
        began = clock()
        work()
        best = min(best, clock() - began)
    return best * 1000


def measure(size: int, rounds: int) -> list[Row]:
    """Measure every shape."""
    rows: list[Row] = []
    parser, judging = tree_sitter.Parser(language()), Judging()
    judging.wait("")  # its start is not a verdict's
    for shape, make in SHAPES.items():
        text, half = make(size), make(size // 2)
        took, half_took = (
            milliseconds(partial(analyse, text), rounds),
            milliseconds(partial(analyse, half), rounds),
        )
        alone = None if shape in SLOW_ALONE else milliseconds(partial(parser.parse, text.encode()), rounds)
        analysis = analyse(text)
        rows.append(
            Row(
                shape=shape,
                kilobytes=len(text) / 1000,
                milliseconds=round(took, 2),
                parser_milliseconds=None if alone is None else round(alone, 2),
                ratio_to_parser=None if alone is None else round(took / alone, 2),
                ratio_to_half=round(took / half_took, 2),
                child_milliseconds=round(milliseconds(partial(judging.wait, text), rounds, time.perf_counter), 2),
                verdict=f"asks: {analysis.unclear}" if analysis.unclear else analysis.rule,
            ),
        )
    judging.close()
    return rows


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.shell", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--kilobytes", type=int, default=100, help="length of each text")
    parser.add_argument("--rounds", type=int, default=3, help="of which the best counts")
    options = parser.parse_args()
    show("shell", COLUMNS, measure(options.kilobytes * 1000, options.rounds), as_json=options.json)


if __name__ == "__main__":
    main()
