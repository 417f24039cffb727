"""All commands that a text comes to: wrappers peeled, shell texts within it read in their turn.

A queue instead of recursion, with bounds on depth and on the whole; what lies beyond them is noted as unclear, which
asks. It finds commands and says how they are reached; judging them is `judging`'s.
"""

import collections
import re
from typing import Final

import msgspec

from host.policy.shell.carried import MOST_TEXTS, carried_texts
from host.policy.shell.doubt import doubt_of, fed_blindly
from host.policy.shell.feeding import Input, built_by_find, built_by_xargs, given_by
from host.policy.shell.found import Found, Unfolded
from host.policy.shell.launching import Weight, is_watched, is_watched_in_program, is_watched_word, launches, weighed
from host.policy.shell.repeats import forks
from host.policy.shell.rights import DOWNLOADERS, INTERPRETERS, fetched_files
from host.policy.shell.script import MOST_COMMANDS, read_script
from host.policy.shell.setting import Setting, Surroundings, placed, setting_of
from host.policy.shell.simple import Simple
from host.policy.shell.syntax import LONGEST_BYTES
from host.policy.shell.word import FETCHED, UNKNOWN, Word, has_mark
from host.policy.shell.wrappers import RAISING, SHELLS, Wrapper, base_name, peel, system_name, wrapper_of

DEEPEST: Final = 8  # shell texts within shell texts
MOST_WRAPPERS: Final = 12  # around one command
_NOTHING: Final = Input()
_SHELL_VALUES: Final = re.compile(r"[-+][a-zA-Z]*[oO]")
_MOST_KEPT: Final = 64  # words of a wrapper with what it runs, for denials
_SHELL_FILES: Final = frozenset({"--rcfile", "--init-file", "--rcs"})


class _Around(msgspec.Struct, frozen=True, kw_only=True):
    """What stands around a shell text."""

    depth: int = 0
    where: str = ""
    cwd: str = ""
    raised: bool = False
    why: str = ""
    fetched: bool = False
    perhaps: bool = False  # stands in a text that may be prose
    launched: bool = False  # stands among the words of another command, all of which are looked at already
    carried: bool = False  # rides in an option or a one-liner of another program
    input: Input = _NOTHING  # what the shell that runs the text is given
    surroundings: Surroundings = Surroundings()  # what rules what it does


def unfold(text: str) -> Unfolded:
    """Return all commands of a text; never raises."""
    unfolded = Unfolded(found=[], unclear=[], bomb=False, raises=False)
    _Unfolding(unfolded).run(text)
    return unfolded


class _Unfolding:
    """The queue and what is known so far."""

    def __init__(self, into: Unfolded) -> None:
        self._into = into
        self._queue: collections.deque[tuple[str, _Around, dict[str, str] | None]] = collections.deque()
        self._bytes = 0
        self._carried = False  # whether the text at hand rides in another program, which executes anyway
        self._files: set[str] = set()  # what the text downloads
        self._script = read_script("")
        self._setting = Setting(text="")

    def run(self, text: str) -> None:
        """Read the text, then every text found in it."""
        self._queue.append((text, _Around(), None))
        while self._queue:
            inner, around, variables = self._queue.popleft()
            self._bytes += len(inner)
            if self._bytes > 2 * LONGEST_BYTES or around.depth > DEEPEST:
                self._unclear("shell texts lie too deep in one another to judge")
                return
            self._carried = around.carried
            self._script = script = read_script(inner, variables)
            if script.given_up:
                self._unclear(script.given_up)
            if script.hidden:
                self._unclear(
                    "a subscript, a default, a name reference, a continued line or a comment may hide a command"
                )
            forking = forks(script.functions)
            self._into.bomb |= bool(forking)
            if forking is None:
                self._unclear("functions lie too deep in one another to judge")
            self._setting = setting_of(script, inner, around.surroundings)
            if script.evaluates:
                self._leaf((), (), Simple(words=()), msgspec.structs.replace(around, why=script.evaluates))
            for simple in script.commands:
                self._simple(simple, around)
            if len(self._into.found) > 2 * MOST_COMMANDS:
                self._unclear(f"it comes to more than {2 * MOST_COMMANDS} commands")
                return

    def _unclear(self, why: str) -> None:
        if not self._carried and why not in self._into.unclear:
            self._into.unclear.append(why)

    def _simple(self, simple: Simple, around: _Around) -> None:
        surroundings = placed(simple, self._script.commands, self._setting, around.surroundings)
        around = msgspec.structs.replace(around, surroundings=surroundings, cwd=simple.cwd or around.cwd)
        if simple.words and DOWNLOADERS & {base_name(word.text) for word in simple.words[:4]}:
            self._files |= fetched_files(simple.words, simple.writes)
        words, assignments = simple.words, simple.assignments
        for _ in range(MOST_WRAPPERS):
            if not words:
                break
            name = self._name(words[0])
            if name == "find":
                built = built_by_find(words)
                if built is None:
                    self._unclear("a find runs too many commands to judge")
                for each in built or []:
                    self._simple(Simple(words=each, cwd=simple.cwd), around)
            wrapper = wrapper_of(name)
            if wrapper is None or self._stays(name, words):
                break
            words, assignments, around = self._peeled(name, words, assignments, wrapper, simple, around)
        else:
            self._unclear("a command is wrapped too deep to judge")
        self._end(words, assignments, simple, around)

    def _name(self, word: Word) -> str:
        if not word.known or not word.text or has_mark(word.text):
            self._unclear(f"the name of a command is computed ({word.shown[:60] or 'empty'})")
        return base_name(word.text)

    @staticmethod
    def _stays(name: str, words: tuple[Word, ...]) -> bool:
        """Whether a wrapper is used for something else than running a command."""
        option = words[1].text if len(words) > 1 else ""
        return (name == "command" and bool(re.fullmatch(r"-[vV]+", option))) or (
            name == "trap" and (option in {"", "-l", "-p", "-"})
        )

    def _peeled(
        self,
        name: str,
        words: tuple[Word, ...],
        assignments: tuple[tuple[str, Word], ...],
        wrapper: Wrapper,
        simple: Simple,
        around: _Around,
    ) -> tuple[tuple[Word, ...], tuple[tuple[str, Word], ...], _Around]:
        """Take one wrapper off."""
        self._wraps(words, around)
        peeled = peel(words, wrapper)
        if peeled.unsure:
            self._unclear(f"what {name} runs cannot be told from its options")
        inner, texts = peeled.words, list(peeled.texts)
        if name in RAISING:
            self._into.raises = True
            around = msgspec.structs.replace(around, raised=True, why=f"{name} raises rights")
        elif not wrapper.inner_reads or _is_foreign(words[0]):
            own = " ".join(word.shown for word in peeled.own)
            where = around.where if wrapper.same else f"{around.where}: {own}" if around.where else own
            around = msgspec.structs.replace(
                around,
                where=where,
                why=f"{words[0].shown} is not known to only read",
            )
        if peeled.strange and wrapper.inner_reads:
            around = msgspec.structs.replace(around, why=f"{name} {peeled.strange} is not known to only read")
        if peeled.cwd:
            around = msgspec.structs.replace(around, cwd=peeled.cwd)
        if name == "trap":
            texts, inner = [words[1]], ()
        elif name == "capsh" and inner:
            inner = (Word("bash"), *inner)
        elif name == "xargs":
            inner = self._fed(peeled.own, inner, simple, around)
        elif name == "parallel":
            texts = [Word(re.sub(r":::\+?|\{[^\s{}]*\}", " ", word.text)) for word in texts]
        for text in texts:
            self._text(text, around, self._given(simple, around))
        if not inner and (texts or not wrapper.inner_reads):
            # the wrapper itself is what is left: it runs its text, a shell, or nothing
            self._leaf(words, (), simple, around)
            return (), (), msgspec.structs.replace(around, why="done")
        if not inner:
            return self._nothing(name, words, (*assignments, *peeled.assignments), simple, around)
        return inner, (*assignments, *peeled.assignments), around

    def _wraps(self, words: tuple[Word, ...], around: _Around) -> None:
        """Keep a wrapper or a shell as it stands: a denial may name it."""
        if around.perhaps:
            return
        cut = (Word(UNKNOWN, False),) if len(words) > _MOST_KEPT else ()
        self._into.wrapped.append((*words[:_MOST_KEPT], *cut))

    def _nothing(
        self,
        name: str,
        words: tuple[Word, ...],
        assignments: tuple[tuple[str, Word], ...],
        simple: Simple,
        around: _Around,
    ) -> tuple[tuple[Word, ...], tuple[tuple[str, Word], ...], _Around]:
        """A wrapper without a command: `env` prints, `exec > f` redirects, others do nothing."""
        if name == "env" and not assignments:
            self._leaf((words[0],), (), simple, around)
        elif assignments or simple.writes:
            self._leaf((), assignments, simple, around)
        return (), (), msgspec.structs.replace(around, why="done")

    def _fed(self, own: tuple[Word, ...], inner: tuple[Word, ...], simple: Simple, around: _Around) -> tuple[Word, ...]:
        """The command that xargs builds; what else it might build is judged beside it."""
        upstream = self._script.commands[slice(*simple.upstream)]
        *others, last = built_by_xargs(own, inner, self._given(simple, around).text, upstream)
        for each in others:
            self._simple(Simple(words=each, cwd=simple.cwd), around)
        return last

    def _text(self, text: Word, around: _Around, given: Input = _NOTHING) -> None:
        """A shell text to be read in its turn; `given` is what its commands read."""
        fetched = FETCHED in text.text
        if has_mark(text.text) or not text.known:
            self._unclear("a shell is given text that is not known")
        self._queue.append(
            (
                text.text,
                msgspec.structs.replace(around, depth=around.depth + 1, fetched=fetched, input=given, launched=False),
                self._script.variables,
            )
        )

    def _given(self, simple: Simple, around: _Around) -> Input:
        """What a command reads: from a here-document, a pipe, or what the shell around it is given."""
        if simple.stdin is not None:
            return Input(piped=True, text=Word(simple.stdin, simple.stdin_known), fetched=FETCHED in simple.stdin)
        first, end = simple.upstream
        return around.input if first == end else given_by(self._script.commands[first:end])

    def _end(
        self, words: tuple[Word, ...], assignments: tuple[tuple[str, Word], ...], simple: Simple, around: _Around
    ) -> None:
        """What is left when every wrapper is off: a shell, a builtin that runs text, or a command."""
        if not words:
            if around.why != "done" and (assignments or simple.writes):
                self._leaf((), assignments, simple, around)
            return
        name = base_name(words[0].text)
        if name in SHELLS or name == "eval":
            self._wraps(words, around)
        if name in SHELLS:
            self._shell(words, assignments, simple, around)
        elif name == "eval":
            first = next((at for at, word in enumerate(words) if at and word.text != "eval"), len(words))
            self._text(
                Word(" ".join(word.text for word in words[first:]), all(word.known for word in words)),
                around,
                self._given(simple, around),
            )
            if _is_foreign(words[0]):
                self._leaf(words, assignments, simple, around)
            else:
                self._bare(simple, around)
        elif name in {"source", "."}:
            self._source(words, assignments, simple, around)
        elif name == "alias":
            for word in words[1:]:
                self._text(Word(word.text.partition("=")[2], word.known), around)
            self._leaf(words, assignments, simple, around)
        else:
            self._leaf(words, assignments, simple, around)

    def _shell(
        self, words: tuple[Word, ...], assignments: tuple[tuple[str, Word], ...], simple: Simple, around: _Around
    ) -> None:
        at, takes_text, clean = 1, False, not _is_foreign(words[0])
        while at < len(words) and words[at].text[:1] in {"-", "+"} and words[at].text not in {"-", "--"}:
            text = words[at].text
            clean &= words[at].known and text not in _SHELL_FILES and not re.match(r"-\w*i", text)
            takes_text |= bool(re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*|--command", text)) and not text.startswith("--c")
            at += 2 if text in _SHELL_FILES or _SHELL_VALUES.fullmatch(text) else 1
        at += at < len(words) and words[at].text in {"-", "--"}
        if takes_text and at < len(words):
            self._texted(words, at, around, self._given(simple, around))
            if not clean or assignments:
                self._leaf(words[:at], assignments, simple, around)
            else:
                self._bare(simple, around)
            return
        given = self._given(simple, around).text
        reads_given = at >= len(words) or any(word.text == "-s" for word in words) or words[at].text == "/dev/stdin"
        if reads_given and given is not None:
            self._text(given, around)
            if clean and not assignments:
                self._bare(simple, around)
                return
        self._leaf(words, assignments, simple, around, fetched=self._runs_fetched(words, simple, around))

    def _texted(self, words: tuple[Word, ...], at: int, around: _Around, given: Input) -> None:
        """`sh -c TEXT NAME ARGUMENT…`."""
        variables = self._script.variables
        values = [word.text for word in words[at + 2 :]]
        numbered = {str(number): value for number, value in enumerate(values, 1)}
        if values:
            numbered |= {"@": " ".join(values), "*": " ".join(values)}
        self._script.variables = {**variables, **numbered}
        self._text(words[at], around, given)
        self._script.variables = variables

    def _source(
        self, words: tuple[Word, ...], assignments: tuple[tuple[str, Word], ...], simple: Simple, around: _Around
    ) -> None:
        given = self._given(simple, around).text
        if len(words) > 1 and words[1].text == "/dev/stdin" and given is not None:
            self._text(given, around)
        self._leaf(words, assignments, simple, around, fetched=self._runs_fetched(words, simple, around))

    def _runs_fetched(self, words: tuple[Word, ...], simple: Simple, around: _Around) -> bool:
        return self._given(simple, around).fetched or any(
            FETCHED in word.text or base_name(word.text) in self._files for word in words
        )

    def _launched(self, words: tuple[Word, ...], simple: Simple, around: _Around, given: Input) -> None:
        """What a program that is not known to run nothing may run: it counts as run where it must not be missed."""
        name, raised = words[0].text, around.raised
        inner = msgspec.structs.replace(around, launched=True, where=f"in {name}", why=f"{name} may run it")
        within = is_watched_in_program if INTERPRETERS.fullmatch(base_name(name)) else is_watched
        for launch in launches(words, is_watched_word, within, given.text.text if given.text is not None else ""):
            found = weighed(launch, around.cwd, fetched=given.fetched) if launch.words else Weight.MANY
            if found is Weight.MANY:
                self._unclear(f"{name} may run too much to judge")
            elif found is Weight.FLOOR_PERHAPS:
                self._unclear(f"{name} may run {launch.words[0].text}, which is never run here")
            elif found is Weight.RUNS or (found is Weight.RAISES and not raised):
                raised |= found is Weight.RAISES  # once is enough: it is asked about each time
                # what it runs with raised rights is a later word, and looked at as such
                kept = launch.words[:_MOST_KEPT] if found is Weight.RAISES else launch.words
                self._simple(
                    msgspec.structs.replace(simple, words=kept, assignments=(), writes=()),
                    msgspec.structs.replace(inner, perhaps=not launch.sure),
                )

    def _riding(
        self,
        words: tuple[Word, ...],
        assignments: tuple[tuple[str, Word], ...],
        around: _Around,
        given: Input,
    ) -> None:
        """What rides in another program: it counts for the floor and denials.

        Whether it could be told does not matter beyond that, as the program that carries it is no reading command.
        """
        reads = words and given.text is not None and INTERPRETERS.fullmatch(base_name(words[0].text))
        read = (given.text,) if reads and given.text is not None else ()
        carried = carried_texts((*words, *read), assignments)
        if len(carried) > MOST_TEXTS and around.depth < DEEPEST:
            self._into.unclear.append(f"more than {MOST_TEXTS} shell texts ride in one command")
        for text in carried[:MOST_TEXTS]:
            self._queue.append(
                (
                    text,
                    msgspec.structs.replace(
                        around,
                        depth=around.depth + 1,
                        where=f"in {words[0].text if words else 'a variable'}",
                        why="it rides in another program",
                        carried=True,
                    ),
                    None,
                )
            )

    def _bare(self, simple: Simple, around: _Around) -> None:
        """A shell or `eval` is nothing by itself, but its redirections are."""
        if simple.writes:
            self._leaf((), (), simple, around)

    def _leaf(
        self,
        words: tuple[Word, ...],
        assignments: tuple[tuple[str, Word], ...],
        simple: Simple,
        around: _Around,
        *,
        fetched: bool = False,
    ) -> None:
        if words and (INTERPRETERS.fullmatch(base_name(words[0].text)) or base_name(words[0].text) in self._files):
            fetched = self._runs_fetched(words, simple, around)
        given = self._given(simple, around)
        if words and base_name(words[0].text) in _JOBS:
            self._text(given.text or Word(UNKNOWN, False), around)
        elif words and given.piped and fed_blindly(words):
            fetched |= given.fetched
            if not fetched and (given.text is None or not given.text.known):  # a download is asked about as one (POL-9)
                self._unclear(f"{base_name(words[0].text)} is given text that is not known")
        if words and (doubt := doubt_of(words, around.cwd)):
            self._unclear(doubt)
        self._riding(words, assignments, around, given)
        if words and not around.launched:
            self._launched(words, simple, around, given)
        self._into.found.append(
            Found(
                words=words,
                assignments=assignments,
                writes=simple.writes,
                where=around.where,
                cwd=around.cwd,
                raised=around.raised,
                perhaps=around.perhaps,
                fetched=fetched or around.fetched,
                defined=bool(words)
                and words == simple.words
                and self._script.defined.get(words[0].text, simple.at) < simple.at,
                why=around.why,
                given="" if given.text is None else given.text.text,
                surroundings=around.surroundings,
            ),
        )


def _is_foreign(name: Word) -> bool:
    """Whether the name of a command is that of some file, and not of a system's program or the shell's own."""
    return system_name(name.text) != base_name(name.text)


_JOBS: Final = frozenset({"at", "batch"})  # read their job from what is given to them
