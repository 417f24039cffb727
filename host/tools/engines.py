"""Podman and docker as command lines: what is said to them, and where they differ.

Pure but for finding the program. A container runs as user 1000 that is nobody to the machine but the owner of the
workspace: podman maps it, docker can only be given the number of the host's own user, so it is not taken for root.
"""

import os
import resource
import shutil
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from host.errors import Unsupported
from host.tools.limits import Limits
from host.tools.paths import HOME

LABEL: Final = "elis.workspace"
_PASSED: Final = ("HOME", "PATH", "USER", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR")
_PASSED_KINDS: Final = ("CONTAINER", "DOCKER_", "STORAGE_", "DBUS_")  # where an engine and its settings are found
_IMAGE_USERS: Final = 65536  # that an image may name; podman shifts them away from the machine's
# The command comes over the standard input and is gone from the disk when it begins. Debian's and Alpine's own shells
# know all of this; bash is taken where the image has it, since people write for it.
_WAITER: Final = (
    "umask 077; cat >/tmp/.elis-command && exec 3</tmp/.elis-command && rm /tmp/.elis-command || exit 125; "
    f"umask 022; mkdir -p {HOME}; "
    "for shell in bash sh; do command -v $shell >/dev/null && exec $shell /proc/self/fd/3 </dev/null; done"
)
VARIABLES: Final = {
    "HOME": HOME,
    "USER": "elis",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "TMPDIR": "/tmp",  # noqa: S108 - the container's own
}


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """A folder of the machine that a container sees."""

    source: str
    inside: str
    writable: bool


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """A container that is to be run."""

    name: str
    label: str  # the mark of the workspace
    image: str
    cwd: str  # full path inside
    mounts: Sequence[Mount]
    limits: Limits
    cpu_seconds: int  # of each process


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """A container engine that was found."""

    kind: Literal["podman", "docker"]
    program: str
    uid: int  # of the user that Elis runs as, who owns the workspace
    gid: int

    def run(self, container: Container) -> list[str]:
        """Return the command line that runs what comes over its standard input, and ends with it."""
        return [
            self.program, "run", "--rm", "--interactive", "--pull", "never", "--name", container.name,
            "--label", f"{LABEL}={container.label}", "--log-driver", "none", "--hostname", "elis", "--network", "none",
            "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", *self._user(),
            *_limited(container.limits, container.cpu_seconds), *self._temporary(container.limits),
            *(part for mount in container.mounts for part in ("--mount", _mount(mount))),
            *(part for name, value in VARIABLES.items() for part in ("--env", f"{name}={value}")),
            "--workdir", container.cwd, "--entrypoint", "/bin/sh", container.image, "-c", _WAITER,
        ]  # fmt: skip

    def remove(self, *names: str) -> list[str]:
        """Return the command line that ends containers, at once, and removes them."""
        now = ["--time", "0"] if self.kind == "podman" else []
        return [self.program, "rm", "--force", "--volumes", *now, *names]

    def left(self, label: str) -> list[str]:
        """Return the command line that lists the containers of a workspace."""
        return [self.program, "ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={LABEL}={label}"]

    def _user(self) -> list[str]:
        if self.kind == "docker":
            return ["--user", f"{self.uid}:{self.gid}"]
        if self.uid != 0:
            return ["--userns", "keep-id", "--user", f"{self.uid}:{self.gid}", "--image-volume", "ignore"]
        return [*_shifted("--uidmap"), *_shifted("--gidmap"), "--user", f"{_USER}:{_USER}", "--image-volume", "ignore"]

    def _temporary(self, limits: Limits) -> list[str]:
        as_it_is = ",notmpcopyup" if self.kind == "podman" else ""
        size = limits.temporary_bytes
        options = f"rw,exec,nosuid,nodev,size={size},mode=1777{as_it_is}"
        return ["--tmpfs", f"/tmp:{options}", "--shm-size", str(size)]  # noqa: S108 - the container's own


_USER: Final = 1000


def engine_from(search_path: str | None = None, *, uid: int | None = None) -> Engine:
    """Return the engine that is there; raise Unsupported with the fix. `uid` is the host's user, by default ours."""
    uid = os.geteuid() if uid is None else uid
    docker = False
    for kind in ("podman", "docker"):
        program = shutil.which(kind, path=search_path)
        if program is None:
            continue
        if kind == "podman" or uid != 0:
            return Engine(kind="podman" if kind == "podman" else "docker", program=program, uid=uid, gid=os.getegid())
        docker = True
    if docker:
        message = (
            "shell is unavailable: docker cannot run a container as non-root that may write what root owns. Fix: run "
            "Elis as an ordinary user of the group docker, or install podman: apt-get install -y podman"
        )
        raise Unsupported(message)
    message = "shell is unavailable: there is neither podman nor docker. Fix: apt-get install -y podman"
    raise Unsupported(message)


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what the client of an engine needs of the host's environment; nothing of it reaches a container."""
    return {name: value for name, value in environment.items() if name in _PASSED or name.startswith(_PASSED_KINDS)}


def _shifted(option: str) -> list[str]:
    """Map the host's root to user 1000 inside, and everybody else of the image to users that own nothing."""
    parts = ((0, 1, _USER), (_USER, 0, 1), (_USER + 1, _USER + 1, _IMAGE_USERS - _USER - 1))
    return [part for inside, outside, count in parts for part in (option, f"{inside}:{outside}:{count}")]


def _limited(limits: Limits, seconds: int) -> list[str]:
    """Return the limits: of the container as a whole, and per process. Never raised above the host's own."""
    arguments = [
        "--memory", str(limits.memory_bytes), "--memory-swap", str(limits.memory_bytes),
        "--pids-limit", str(limits.processes),
    ]  # fmt: skip
    for name, what, most in (
        ("fsize", resource.RLIMIT_FSIZE, limits.file_bytes),
        ("nofile", resource.RLIMIT_NOFILE, limits.open_files),
        ("nproc", resource.RLIMIT_NPROC, limits.processes),
        ("cpu", resource.RLIMIT_CPU, seconds),
        ("core", resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        arguments += ["--ulimit", f"{name}={value}:{value}"]
    return arguments


def _mount(mount: Mount) -> str:
    """Return a mount as a line of comma-separated values, which both engines read as such."""
    fields = ["type=bind", f"source={mount.source}", f"target={mount.inside}"]
    if not mount.writable:
        fields.append("readonly")
    return ",".join(f'"{field.replace(chr(34), chr(34) * 2)}"' if set(field) & set(',"') else field for field in fields)
