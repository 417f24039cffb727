"""Programs that speak what `op`, `bw` and `pass` are documented to print, and tell what they were given."""

import sys
from pathlib import Path

_BODY = """#!{python} -I
import json, os, sys, time
with open({told!r}, "w") as file:
    json.dump({{"arguments": sys.argv[1:], "environment": dict(os.environ), "stdin": sys.stdin.read()}}, file)
if {seconds}:
    time.sleep({seconds})
sys.stdout.write({out!r})
sys.stderr.write({err!r})
sys.exit({code})
"""


def install(folder: Path, program: str, out: str = "", err: str = "", code: int = 0, seconds: float = 0) -> Path:
    """Write a stand-in for `program` into `folder`; return the file in which it tells what it was given."""
    told = folder / f"{program}.told"
    path = folder / program
    path.write_text(
        _BODY.format(python=sys.executable, told=str(told), out=out, err=err, code=code, seconds=seconds),
        encoding="utf-8",
    )
    path.chmod(0o755)
    return told
