"""What back ends of the sandbox report: how a command ended, and whether the back end works.

Records only; `host.tools.sandbox` names the interface they belong to.
"""

import msgspec

from host.passport import Destination


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended."""

    exit_code: int  # 128 + N when signal N ended it
    output: str  # stdout and stderr as they came, head and tail when it was much
    timed_out: bool
    truncated: bool  # some of the output was not kept; its place in `output` says how much
    notes: tuple[str, ...] = ()  # what else the model should know: a limit that was reached
    unlisted: tuple[Destination, ...] = ()  # where it was not let through because nothing lists that


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at a back end found, for doctor and for the refusal of a command."""

    ok: bool
    text: str  # what works, with the limits in force, or what does not
    fix: str = ""  # what to do about it
