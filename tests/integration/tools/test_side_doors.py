"""Forms that look like reading, run for real: each does what it is asked about for."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from host.passport import Effect
from host.policy.shell.analysis import analyse

SYSTEM = ["/usr", "/etc", "/bin", "/lib", "/lib64", "/sbin"]
SETTING = [
    "[[ 1 -eq PATH=5 ]]",
    "[[ 1 -lt PATH++ ]]",
    '[[ 1 -eq "PATH                    = 5" ]]',
    "echo ${a[PATH=5]}",
    "echo ${#a[PATH=5]}",
    "echo ${x:PATH=5}",
    "echo ${x:(PATH=5):2}",
    "x=a; echo ${x#${a[PATH=5]}}",
    "x=a; echo ${x/${a[PATH=5]}/b}",
    "x=a; echo ${x^^${a[PATH=5]}}",
    "echo ${unset:-$[PATH=5]}",
    "[[ x =~ ${a[PATH=5]} ]]",
    "[[ a == *$[PATH=5]* ]]",
    ": <<E\n${a[PATH=5]}\nE",
    "a[PATH=5]=1",
    "a=([PATH=5]=1)",
    "a=( x [PATH    = 5]=1 )",
    "declare a[PATH=5]=1",
    "((                PATH               =5))",
    "echo $((PATH[0]=5))",
    "x=PATH; unset PATH; : ${!x:=5}",
    "declare -n x=PATH; x=5",
    "for PATH in a; do :; done",
    "read -ra PATH <<< x",
    "time read -r PATH <<< x",
    "mapfile PATH < /dev/null",
    "sleep 0 & wait -n -p PATH",
    "getopts a PATH -a",
    "printf -v PATH 5",
    "printf '%n' PATH",
    "printf '%ln' PATH",
    "printf '%hhn' PATH",
    "printf '%jn' PATH",
    "printf '%.*ln' 5 PATH",
    "printf 'ab\\%ln' PATH",
    "let PATH=5",
    ": {PATH}</dev/null",
    "exec {PATH}</dev/null",
    ": {PA\\\nTH}\\\n</dev/null",
    "echo x {PATH}>&1",
    ": {PATH}<<<x",
    "{ :; } {PATH}</dev/null",
    "PA\\\nTH=5",
    "export x=1 </dev/null PATH=5",
]


@pytest.mark.parametrize("text", SETTING)
@pytest.mark.clause("POL-5")
def test_what_bash_takes_for_an_assignment_is_asked_about(text: str) -> None:
    """It shows by itself that the variable is another behind it."""
    bash = shutil.which("bash")
    assert bash
    told = subprocess.run(
        [bash, "-c", f'a=(1 2 3 4 5 6 7); x=abcdef\n{{ {text}\n}} >/dev/null\necho "$PATH"'],
        env={"PATH": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout != "1\n"
    assert analyse(text).effect is not Effect.READ


CHANGING = [
    ("bzip2", "bzip2 a", "exec -a bunzip2 bzcat a.bz2"),
    ("xz", "xz a", "exec -a unxz xzcat a.xz"),
    ("sort", "true", "sort -\\\no victim a"),
    ("ls", "true", "ls >&1\\\n-x"),
    ("touch", "true", "ls \\ #;touch new"),
    ("touch", "true", "ls \r#;touch new"),
    ("touch", "true", "time \\ #> new"),
    ("touch", "true", "x=(a)#;touch new"),
    ("xxd", "true", "xxd a -p"),
    ("uniq", "true", "uniq a \\  # b"),
    ("xxd", "true", "xxd -c -ps a victim"),
    ("xxd", "true", "xxd -l -ps a victim"),
    ("touch", "cp $(command -v touch) cat", "./cat new"),
    ("sh", "printf '#!/bin/sh\\ntouch new\\n' > nice && chmod +x nice", "./nice ls"),
    ("sh", "printf '#!/bin/sh\\ntouch new\\n' > bash && chmod +x bash", "./bash -c ls"),
    (
        "git",
        "git init -q . && git add a && git -c user.name=a -c user.email=a@b commit -qm x",
        "read -r x <<< elete; git reflog \"d$x\" 'HEAD@{0}'",
    ),
]


def contents(folder: Path) -> dict[str, bytes]:
    """Return everything in a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }


def boxed(text: str, folder: Path) -> None:
    """Run a text in a sandbox that can write to one folder."""
    system = [word for path in SYSTEM for word in ("--ro-bind-try", path, path)]
    box = ["bwrap", "--unshare-all", *system, "--proc", "/proc", "--dev", "/dev", "--bind", str(folder), "/workspace"]
    subprocess.run(
        [*box, "--chdir", "/workspace", "bash", "-c", text],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": "/workspace"},
    )


@pytest.mark.parametrize(("prepared", "text"), [(how, text) for need, how, text in CHANGING if shutil.which(need)])
@pytest.mark.clause("POL-5")
def test_what_changes_a_file_by_another_name_is_asked_about(prepared: str, text: str, tmp_path: Path) -> None:
    """The folder shows that something was written, removed or run."""
    for name in ("a", "victim"):
        (tmp_path / name).write_text(f"{name}\n", encoding="utf-8")
    boxed(prepared, tmp_path)
    before = contents(tmp_path)
    boxed(text, tmp_path)
    assert contents(tmp_path) != before
    assert analyse(text).effect is not Effect.READ
