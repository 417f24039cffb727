"""Programs that outlived the process of their group: marked at their start, found and ended at the group's next one.

A program dies with the thread that started it, but for two gaps: bubblewrap asks for that only after its first
millisecond, and a bare command not at all. The mark, in the environment, names the workspace and nothing else. Who
calls `end_leftovers` holds the group's journal, so that nothing marked can be at work for anybody.
"""

import os
from typing import Final

import psutil

from host.tools.roots import Root

MARK: Final = "ELIS_WORKSPACE"
_GONE_SECONDS: Final = 5.0  # SIGKILL takes milliseconds; longer only where a disk or device hangs


def mark(workspace: Root) -> dict[str, str]:
    """Return the variable that a program started for this workspace carries: the folder's device and number."""
    status = os.fstat(workspace.descriptor)
    return {MARK: f"{status.st_dev}:{status.st_ino}"}


def end_leftovers(workspace: Root) -> int:
    """End what still carries the workspace's mark, and wait for its end; return how many that were."""
    left = left_running(workspace)
    for process in left:
        process.kill()
    psutil.wait_procs(left, timeout=_GONE_SECONDS)
    return len(left)


def left_running(workspace: Root) -> list[psutil.Process]:
    """Return the living processes of this user that carry the workspace's mark."""
    carried = mark(workspace)[MARK]
    return [process for process in psutil.process_iter() if _carries(process, carried)]


def _carries(process: psutil.Process, carried: str) -> bool:
    try:
        return process.environ().get(MARK) == carried
    except (psutil.Error, OSError):
        return False  # somebody else's, a zombie, or gone meanwhile
