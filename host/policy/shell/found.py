"""What a text comes to when it is unfolded: its inner commands, and how each is reached. Not judged yet."""

import msgspec

from host.policy.shell.setting import Surroundings
from host.policy.shell.word import Word


class Found(msgspec.Struct, kw_only=True):
    """A command, and how it is reached."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    writes: tuple[Word, ...]
    where: str  # wrappers that change what it is
    cwd: str
    raised: bool  # rights were raised before it
    perhaps: bool  # its name only stands in a text that may be prose
    fetched: bool  # it runs what was fetched
    defined: bool  # it is a function that the text defines before it
    why: str  # what makes it execute, whatever it is; "" when nothing does
    given: str  # the text that it reads, where it is told; "" else
    surroundings: Surroundings  # what else rules what it does


class Unfolded(msgspec.Struct, kw_only=True):
    """What a text comes to."""

    found: list[Found]
    unclear: list[str]  # why not everything could be told
    bomb: bool  # a function of it is a fork bomb
    raises: bool  # a wrapper raises rights
    wrapped: list[tuple[Word, ...]] = []  # every wrapper and shell with what it runs, as it stood; long ones cut
