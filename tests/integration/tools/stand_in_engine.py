"""Stands in for podman: takes its documented options and no others, and runs the command on the machine itself.

It shows that what is said is the engine's language, and what becomes of an ending; it confines nothing.
"""

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

STATE = Path(os.environ["CONTAINERS_STAND_IN"])


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the command line as podman-run(1), podman-rm(1) and podman-ps(1) have it."""
    parser = argparse.ArgumentParser(exit_on_error=True, allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True)
    run, rm, ps = verbs.add_parser("run"), verbs.add_parser("rm"), verbs.add_parser("ps")
    for flag in ("--rm", "--interactive", "--read-only"):
        run.add_argument(flag, action="store_true", required=True)
    for option in (
        "--name", "--label", "--log-driver", "--hostname", "--network", "--security-opt", "--user", "--memory",
        "--memory-swap", "--pids-limit", "--tmpfs", "--shm-size", "--workdir", "--entrypoint", "--pull",
    ):  # fmt: skip
        run.add_argument(option, required=True)
    for option in ("--cap-drop", "--mount", "--env", "--ulimit"):
        run.add_argument(option, action="append", required=True)
    for option in ("--uidmap", "--gidmap", "--userns", "--image-volume"):
        run.add_argument(option, action="append")
    run.add_argument("image")
    run.add_argument("rest", nargs=argparse.REMAINDER)
    for flag in ("--force", "--volumes"):
        rm.add_argument(flag, action="store_true", required=True)
    rm.add_argument("--time", type=int, required=True)
    rm.add_argument("names", nargs="+")
    for flag in ("--all", "--quiet", "--no-trunc"):
        ps.add_argument(flag, action="store_true", required=True)
    ps.add_argument("--filter", required=True)
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> int:
    """Run it where its mounts lie, with nothing but its variables."""
    if options.image == "localhost/none:1":
        sys.stderr.write(f"Error: {options.image}: image not known\n")
        return 125
    mounts: dict[str, str] = {}
    for line in options.mount:
        parts = [field.partition("=") for field in next(csv.reader([line]))]
        fields = {name: value for name, _, value in parts}
        mounts[fields["target"]] = fields["source"]
    (STATE / "said.json").write_text(json.dumps(vars(options) | {"mounts": mounts}))
    environment = dict(each.split("=", 1) for each in options.env) | {"PATH": os.environ["PATH"]}
    inside = subprocess.Popen(
        [options.entrypoint, *options.rest],
        cwd=options.workdir.replace("/workspace", mounts["/workspace"], 1),
        env=environment,
        start_new_session=True,
    )
    record = STATE / f"{options.name}.container"
    record.with_suffix(".new").write_text(f"{inside.pid} {options.label}")
    record.with_suffix(".new").rename(record)
    code = inside.wait()
    record.unlink(missing_ok=True)
    return 128 - code if code < 0 else code


def main() -> int:
    """Do what the command line says."""
    options = parsed(sys.argv[1:])
    records = {record.stem: record.read_text().split(" ", 1) for record in STATE.glob("*.container")}
    match options.verb:
        case "run":
            return run(options)
        case "ps":
            wanted = options.filter.removeprefix("label=")
            sys.stdout.writelines(f"{name}\n" for name, (_, label) in records.items() if label == wanted)
        case _:
            for name in options.names:
                if name in records:
                    os.killpg(int(records[name][0]), signal.SIGKILL)
                    (STATE / f"{name}.container").unlink(missing_ok=True)
    return 0


sys.exit(main())
