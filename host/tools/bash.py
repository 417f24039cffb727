"""The shell that runs commands, where they run. Imports nothing but the standard library: see `host.tools.far`."""

import shutil


def shell() -> str:
    """Return the shell that runs commands: what people write for a terminal is mostly meant for bash."""
    return shutil.which("bash", path="/usr/bin:/bin") or "/bin/sh"
