"""The verdict on a shell text: what it would run, whether that only reads, and what is to be said about it (POL-5).

The one door of this folder: `analyse` for a text, `patterns` for denials and grants over what it returns. Pure; who may
do what, and who is asked, is the gate's.
"""

from typing import Final

import msgspec

from host.passport import Effect
from host.policy.shell.command import Command, Once
from host.policy.shell.environment import ruling
from host.policy.shell.floor import Floor, floor_of, writes_raw
from host.policy.shell.found import Found, Unfolded
from host.policy.shell.reading import is_program, why_not_reading
from host.policy.shell.rights import raises_rights
from host.policy.shell.unfolding import unfold
from host.policy.shell.word import Word
from host.policy.shell.wrappers import system_name

_SINKS: Final = frozenset(
    {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/full"}
)
READS: Final = "reads"
_FLOOR_WORDS: Final[dict[Floor, str]] = {
    Floor.WIPES: "it removes all of a root or a home. Name the folder inside the workspace that should go",
    Floor.RAW_WRITE: "it writes to a block device. Write to a file in the workspace",
    Floor.FILE_SYSTEM: "it makes a file system. That is the operator's to do, by hand",
    Floor.FORK_BOMB: "it starts itself without end",
    Floor.SHUTDOWN: "it turns the machine off or restarts it. That is the operator's to do, by hand",
    Floor.DOWNLOAD_AS_ROOT: "it runs what it just fetched with raised rights. Fetch it into a file and read that first",
    Floor.KILLS_HOST: "it ends the host or every process. End the processes you started, by their number",
}
_ONCE_WORDS: Final[dict[Once, str]] = {
    Once.RAISES_RIGHTS: "it raises rights; a person decides each time. Try it without",
    Once.RUNS_DOWNLOAD: "it runs what it fetches; a person decides each time. Fetch it into a file and read that first",
}


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a shell text."""

    commands: tuple[Command, ...]  # every command it would run, in the order found; wrappers and shells are not in it
    wrapped: tuple[tuple[Word, ...], ...] = ()  # every wrapper and shell of it with what it runs, for denials
    effect: Effect  # read when every command provably only reads and all is clear, else execute
    floor: Floor | None  # the hard floor it is on: never run, in any mode
    once: frozenset[Once]  # why it is asked about for this once, whatever is granted
    unclear: str  # why not all of it could be told; then no grant covers it, and the floor cannot be ruled out
    rule: str  # what decided: floor:NAME, once:NAME, unclear, executes:NAME, reads
    reason: str  # one or two sentences for the person and the model: which rule, and what it may do instead


def analyse(text: str) -> Analysis:
    """Return what a shell text would do. Never raises; bounded by its own counts, not by the clock."""
    return _of(unfold(text))


def _of(unfolded: Unfolded) -> Analysis:
    commands = tuple(_judged(found) for found in unfolded.found)
    floor = Floor.FORK_BOMB if unfolded.bomb else next((each.floor for each in commands if each.floor), None)
    once = frozenset[Once]().union(*(each.once for each in commands))
    if unfolded.raises:
        once |= {Once.RAISES_RIGHTS}
    unclear = "; ".join(unfolded.unclear[:3])
    executing = next((each for each in commands if each.effect is not Effect.READ), None)
    reads = executing is None and not (floor or once or unclear)
    rule, reason = _told(unfolded, floor, once, executing)
    return Analysis(
        commands=commands,
        wrapped=tuple(unfolded.wrapped),
        effect=Effect.READ if reads else Effect.EXECUTE,
        floor=floor,
        once=once,
        unclear=unclear,
        rule=rule,
        reason=reason,
    )


def unjudged(why: str) -> Analysis:
    """Return the analysis of a text that nobody could judge: anything may be in it."""
    return _of(Unfolded(found=[], unclear=[why], bomb=False, raises=False))


def unconfined(analysis: Analysis) -> Analysis:
    """Return what the same text does where no sandbox bounds what a command may read: then none only reads (BOX-3)."""
    if analysis.effect is not Effect.READ:
        return analysis
    reason = "It only reads, but nothing bounds what: it sees all that the account it runs as may read."
    return msgspec.structs.replace(analysis, effect=Effect.EXECUTE, rule="unconfined", reason=reason)


def _judged(found: Found) -> Command:
    writes = tuple(target for target in found.writes if target.text not in _SINKS or not target.known)
    floor, once = _floor(found, writes), set[Once]()
    if (found.words and raises_rights(found.words)) or found.raised:
        once.add(Once.RAISES_RIGHTS)
    if found.fetched:
        once.add(Once.RUNS_DOWNLOAD)
        floor = floor or (Floor.DOWNLOAD_AS_ROOT if found.raised else None)
    why = found.why or _why(found, writes)
    every = (*found.words, *writes, *(value for _, value in found.assignments))
    around = found.surroundings
    takes = bool(found.words) and (bool(found.given) or around.texts != around.fed)
    only_data = takes and (system_name(found.words[0].text) == "tee" or not why_not_reading(found.words))
    return Command(
        words=found.words,
        assignments=found.assignments,
        writes=writes,
        where=found.where,
        perhaps=found.perhaps,
        effect=Effect.EXECUTE if why or floor or once else Effect.READ,
        why=why,
        floor=floor,
        once=frozenset(once),
        known=all(word.known for word in every),
        folder=around.folder,
        setting=around.texts if only_data else around.fed,
        given="" if only_data else found.given,
    )


def _floor(found: Found, writes: tuple[Word, ...]) -> Floor | None:
    for target in writes:
        if raw := writes_raw(target.text):
            return raw
    return floor_of(found.words, found.cwd) if found.words else None


def _why(found: Found, writes: tuple[Word, ...]) -> str:
    """Return what keeps a command from only reading, in words."""
    if writes:
        return f"it writes to {writes[0].shown}"
    if variable := ruling(found.assignments, found.words[0].text if found.words else ""):
        return f"it sets {variable}, which may change what runs"
    if not found.words:
        return ""
    if found.defined:  # a function's body is judged where it is defined
        return f"{found.words[0].text} is made another command" if is_program(found.words[0].text) else ""
    return why_not_reading(found.words)


def _told(unfolded: Unfolded, floor: Floor | None, once: frozenset[Once], executing: Command | None) -> tuple[str, str]:
    """Return the rule and the sentence for it."""
    if floor is not None:
        return f"floor:{floor}", f"Never run here, in any mode: {_FLOOR_WORDS[floor]}."
    if once:
        first = min(once)
        return f"once:{first}", f"Asked for this once: {_ONCE_WORDS[first]}."
    if unfolded.unclear:
        why = "; ".join(unfolded.unclear[:3])
        return "unclear", f"Asked, because {why}. Say it in plain commands, without computed names or texts."
    if executing is not None:
        name = executing.words[0].text if executing.words else ">"
        return (
            f"executes:{name[:80]}",
            f"Asked, because {executing.why}. Commands that only read run without a question.",
        )
    return READS, "Every command of it only reads."
