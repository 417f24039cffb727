"""A simple command as it stands in a text, and a text read: what `script` finds, before any wrapper is taken off."""

import msgspec

from host.policy.shell.syntax import Parsed
from host.policy.shell.word import Word


class Simple(msgspec.Struct, kw_only=True):
    """One simple command, or a redirection or assignment that stands alone (no words then)."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()  # variables set for it, or by it
    writes: tuple[Word, ...] = ()  # what its redirections write to
    stdin: str | None = None  # the text that a here-document or here-string gives it
    stdin_known: bool = True  # whether that text is literal
    upstream: tuple[int, int] = (0, 0)  # the commands whose output reaches it: a range of the script's commands
    cwd: str = ""  # the folder that the text changed to before; "" where it started
    function: str = ""  # the function that it is the body of
    at: int = 0  # where it starts, in bytes


class Script(msgspec.Struct, kw_only=True):
    """A text, read."""

    commands: list[Simple]
    functions: dict[str, bytes]  # defined here: name → body
    defined: dict[str, int]  # those defined whatever happens, and where: name → byte
    variables: dict[str, str]  # as the text leaves them
    given_up: str  # why not all of it was read; "" when it was
    parsed: Parsed  # the text and its tree
    evaluates: str  # why bash may evaluate text in it that is not known; "" when it does not
    hidden: bool  # whether a subscript, a default, a name reference or a continued line may run or set something unseen
