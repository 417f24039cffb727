"""What the tables call reading, run for real in a throwaway folder: nothing there changes."""

import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.passport import Effect
from host.policy.shell.analysis import analyse
from host.policy.shell.options import Options
from host.policy.shell.programs import LISTED

# They wait for a daemon that is not there, or take half a second each to start.
SLOW = {"docker", "podman", "kubectl", "npm", "pip", "pip3", "apt", "apt-cache", "systemctl", "journalctl", "top"}
SYSTEM = ["/usr", "/etc", "/bin", "/lib", "/lib64", "/sbin"]


def forms(name: str, entry: Options) -> Iterator[str]:
    """Yield a command for each option of an entry, with the name of a file for its value."""
    operands = "a.txt victim" if entry.most is None else "a.txt" if entry.most else ""
    for letter, kind in entry.letters.items():
        value = " victim" if kind == ":" else "victim" if kind else ""
        yield f"{name} -{letter}{value} {operands}"
    for long, kind in entry.longs.items():
        yield f"{name} --{long}{'=victim' if kind else ''} {operands}"


def commands() -> list[str]:
    """Return all of them that count as reading, of the programs that are installed."""
    every = [form for name, entry in LISTED.items() for form in forms(name, entry)]
    every += [
        "sed -n 's/a/b/gp;2q' a.txt",
        "awk '{ print $1 / 2 }' a.txt victim",
        "tar tf a.tar",
        "tar -tvf a.tar",
        "gzip -dc b.gz",
        "gzip -l b.gz",
        "gzip -tv b.gz",
        "find . -type f -printf '%p\\n'",
        "xxd -l 4 a.txt",
        "date -r a.txt +%F",
        "find . -name '*.txt' -exec grep -c a {} +",
    ]
    named = [(each.split()[0], each) for each in every]
    return [
        each
        for program, each in named
        if program not in SLOW and shutil.which(program) and analyse(each).effect is Effect.READ
    ]


def contents(folder: Path) -> dict[str, bytes]:
    """Return everything in a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.clause("POL-5")
def test_no_listed_form_changes_anything(tmp_path: Path) -> None:
    """Each option once, with a file that must stay as its value and as its operand."""
    (tmp_path / "a.txt").write_text("a\nb\na\n", encoding="utf-8")
    (tmp_path / "victim").write_text("precious\n", encoding="utf-8")
    subprocess.run(["sh", "-c", "gzip -c a.txt > b.gz; tar cf a.tar a.txt"], cwd=tmp_path, check=True)
    before, every = contents(tmp_path), commands()
    script = "\n".join(f"timeout 0.3 bash -c {shlex.quote(each)} </dev/null >/dev/null 2>&1" for each in every)
    system = [word for path in SYSTEM for word in ("--ro-bind-try", path, path)]
    subprocess.run(
        [
            *(
                "bwrap",
                "--unshare-all",
                *system,
                "--proc",
                "/proc",
                "--dev",
                "/dev",
                "--bind",
                str(tmp_path),
                "/workspace",
            ),
            *("--chdir", "/workspace", "bash", "-c", f"{script}\ntrue"),
        ],
        check=True,
    )
    assert len(every) >= 300
    assert contents(tmp_path) == before
