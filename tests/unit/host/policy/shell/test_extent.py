"""How far a standing answer for a command reaches: to the same command, or to the same with other plain operands."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.passport import Effect
from host.policy.shell.analysis import analyse
from host.policy.shell.extent import all_covered, exact, under


def target(text: str, cwd: str = "") -> list[str]:
    """Return what a grant of the target of a text holds; nothing where none is on offer."""
    lines = [exact(command, cwd) for command in analyse(text).commands if command.effect is not Effect.READ]
    return [line for line in lines if line is not None] if all(lines) else []


def wider(text: str, cwd: str = "") -> list[str]:
    """Return what a grant of "under" would hold for a text; nothing where none is on offer."""
    lines = [under(command, cwd)[:1] for command in analyse(text).commands if command.effect is not Effect.READ]
    return [line for each in lines for line in each] if all(lines) else []


@pytest.mark.clause("APR-1")
def test_a_grant_covers_the_inner_command_never_the_shell() -> None:
    """What was granted out of a shell's text does not let that shell run anything else."""
    held = target("/bin/zsh -lc 'make test'")
    assert held == ["make test"]
    assert all_covered(held, analyse("make test"))
    assert all_covered(held, analyse("bash -c \"'make' test\""))
    assert all_covered(held, analyse("timeout 9 nice make test 2>&1 | tail -3"))
    assert not all_covered(held, analyse("/bin/zsh -lc 'rm x'"))
    assert not all_covered(target("touch a"), analyse("touch a; rm x"))


@pytest.mark.parametrize(
    "text",
    [
        "make test > f",
        "make test >> f",
        "make test 2> f",
        "make test < f",
        "make test <<< code",
        "echo code | make test",
        "echo code | { make test; }",
        "echo code | bash -c 'make test'",
        "CC=./x make test",
        "env CC=./x make test",
        "CC=./x bash -c 'make test'",
        "env -i make test",
        "env -C sub make test",
        "env -S 'make test'",
        "ssh host make test",
        "sudo make test",
        "./timeout 9 make test",
        "time -o f make test",
        "find . -execdir make test ;",
        "find . -execdir make test \\;",
        "xargs make test < f",
        "exec -a x make test",
        "make test; rm x",
        "make test | tee f",
        "make $x",
        "make test && $y",
        "cd sub && make test",
        "cd sub; make test",
        "(cd sub; make test)",
        "cd / && make test",
        "cd $x && make test",
        "cd - && make test",
        "'c'd sub; make test",
        "command cd sub; make test",
        "eval 'cd sub'; make test",
        "time cd sub; make test",
        "export CC='touch pwned #'; make test",
        "export CC; make test",
        "declare -x CC=./x; make test",
        "CC=./x; make test",
        "PATH=.:$PATH; make test",
        "PATH=. : ; make test",
        "sh -c 'PATH=. : ; make test'",
        "for PATH in .; do make test; done",
        "read CC < f; export CC; make test",
        "printf -v PATH .; make test",
        "((PATH=1)); make test",
        ": ${CC:=./x}; make test",
        "make() { rm x; }; make test",
        "alias make=rm; make test",
        "set -a; make test",
        "umask 0; make test",
        "hash -p ./x make; make test",
        "enable -f ./x make; make test",
        "trap 'make test' EXIT",
        "source f; make test",
        ". f; make test",
        "exec < f; make test",
        "fish -c 'make test'",
        "bash --rcfile x -ic 'make test'",
        "setopt x; make test",
    ],
)
@pytest.mark.clause("APR-1")
def test_a_grant_of_a_target_covers_nothing_that_stands_elsewhere(text: str) -> None:
    """Redirections, input, folders, variables, functions and wrappers decide what a command does."""
    assert not all_covered(target("make test"), analyse(text)), text


@pytest.mark.parametrize(
    ("given", "other"),
    [
        ("echo 'print(1)' | python3 -", "echo 'print(2)' | python3 -"),
        ("python3 - <<'E'\nprint(1)\nE", "python3 - <<'E'\nprint(2)\nE"),
        ("python3 - <<< 'print(1)'", "python3 - <<< 'print(2)'"),
        ("python3 - < a.py", "python3 - < b.py"),
        ("cd a && rm -r build", "cd b && rm -r build"),
        ("cd a && rm -r build", "rm -r build"),
        ("cd a; rm -r build", "cd a && rm -r build"),
        ("cd a && rm -r build", "cd a && cd a && rm -r build"),
        ("cd a && rm -r build", "cd a && true || rm -r build"),
        ("cd a && rm -r build", "cd a && true & rm -r build"),
        ("cd a && rm -r build", "cd a && rm -r build; rm -r build"),
        ("cd a && rm -r build", "cd a && ls && cd .. && rm -r build"),
        ("rm -r build", "cd / && rm -r build"),
        ("export CC=a; make all", "export CC=b; make all"),
        ("CC=a make all", "CC=b make all"),
        ("f() { rm a; }; f", "f() { rm b; }; rm a"),
        ("find a -execdir make all \\;", "find b -execdir make all \\;"),
        ("echo x > a", "echo x >> a"),
        ("make > a", "make 2> a"),
    ],
)
@pytest.mark.clause("APR-1")
def test_what_rules_a_command_belongs_to_the_target(given: str, other: str) -> None:
    """A grant covers the text it was given for, and not the same words under something else."""
    assert all_covered(target(given), analyse(given))
    assert not all_covered(target(given), analyse(other))


@pytest.mark.parametrize(
    "text",
    [
        "cat prog | python3 -",
        "python3 - <<E\nprint($x)\nE",
        'python3 - <<< "$x"',
        "python3 <(cat prog)",
        'cd "$where" && make',
        "cd $(cat where); make",
        "CC=$(cat f); export CC; make",
        "export CC=$x; make",
        "read CC; export CC; make",
        "while read CC; do export CC; make; done < f",
        "for CC in a b; do export CC; make; done",
        "sudo make",
        "make $x",
        "rm -rf /",
    ],
)
@pytest.mark.clause("APR-1", "POL-9")
def test_what_is_not_known_or_always_asked_cannot_be_granted(text: str) -> None:
    """Neither guesses nor unknown input, folders or variables, nor raised rights, nor the floor."""
    assert target(text) == []
    assert wider(text) == []


@pytest.mark.clause("APR-1")
def test_folders_have_one_spelling() -> None:
    """Whether a text goes there or starts there, and however it is written."""
    (line,) = target("rm -r build", "a/b")
    assert line == "rm -r build (in a/b)"
    for text, cwd in (
        ("cd a && cd b && rm -r build", ""),
        ("cd b && rm -r build", "a"),
        ("cd ./a//b/ && rm -r build | tail -1", ""),
        ("cd /workspace/a/b && bash -c 'rm -r build'", "c"),
    ):
        assert target(text, cwd) == [line], text
    assert target("rm -r 'build (in a/b)'") != [line]


@pytest.mark.clause("APR-1")
def test_a_pipeline_is_covered_when_each_of_its_commands_is() -> None:
    """Commands that only read need no grant, and what is given to them is only data."""
    assert all_covered(target("make test"), analyse("make test | grep -c ok"))
    assert not all_covered(target("make test"), analyse("make test | sh"))
    assert all_covered([*target("make test"), *target("tee log")], analyse("make test | tee log"))
    assert all_covered(target("cat > f"), analyse("cat > f <<E\n$x\nE"))


@pytest.mark.clause("APR-1")
def test_under_covers_the_same_command_and_options_with_other_plain_operands() -> None:
    """Also more or fewer of them."""
    for approved, others in {
        "git clone x": ("git clone other", "git clone x y", "git clone ./sub/y"),
        "git clone https://example.org/x": ("git clone https://example.org/y",),
        "git clone https://example.org/x y": ("git clone a b", "git clone https://example.org/z", "git clone y"),
        "git clone -q -b main x": ("git clone -q -b main y",),
        "git add -- a": ("git add -- b c",),
        "git push origin main": ("git push origin other",),
        "mkdir -p a/b": ("mkdir -p c/d e",),
        "cd sub && touch a": ("cd sub && touch b",),
    }.items():
        for other in others:
            assert all_covered(wider(approved), analyse(other)), (approved, other)


@pytest.mark.parametrize(
    ("given", "other"),
    [
        ("git clone x", "git clone x y -u ./run.sh"),
        ("git clone x", "git clone --template=tpl x"),
        ("git clone x", "git clone x y --template=tpl"),
        ("git clone x", "git clone x -c protocol.ext.allow=always"),
        ("git clone x", "git -c core.pager=x clone x"),
        ("git clone x", "git clone 'ext::sh -c touch% pwned'"),
        ("git clone x", "git clone host:path"),
        ("git clone x", "git clone https://example.org/x"),
        ("git clone x", "git clone /etc"),
        ("git clone x", "git clone ../x"),
        ("git clone x", "git clone x .elis/packages"),
        ("git clone x", "cd sub && git clone x"),
        ("git clone x", "GIT_SSH_COMMAND=./x git clone x"),
        ("git clone x", "git clone x > log"),
        ("git clone x", "./git clone x"),
        ("git clone -b main x", "git clone -b other x"),
        ("git clone -b main x", "git clone x"),
        ("git fetch origin main", "git fetch 'ext::sh -c touch% pwned' main"),
        ("git fetch origin main", "git fetch ./evil main"),
        ("git push origin main", "git push ./evil main"),
        ("git push origin main", "git push origin :main"),
        ("git push origin main", "git push origin +main"),
        ("git push origin main", "git push --force origin main"),
        ("git push origin main", "git push origin main --receive-pack=./x"),
        ("git init x", "git init x --template=tpl"),
        ("git init x", "git add x"),
        ("mkdir a", "mkdir -m 4777 a"),
        ("touch a", "touch -r b a"),
    ],
)
@pytest.mark.clause("APR-1")
def test_under_covers_no_other_option_place_or_operand(given: str, other: str) -> None:
    """Wherever it stands and whatever it is called; nobody has to know what it does."""
    assert wider(given)
    assert not all_covered(wider(given), analyse(other)), other


@pytest.mark.parametrize(
    "text",
    """make all
gcc main.c
zip a.zip f
cargo test
npm run build
cmake build
pytest tests
find src -newer x -delete
sed -i p f
curl -o f https://example.org
git rebase main
git bisect start
git submodule update
git difftool a
git config a b
go build x
tar xf a.tar
rsync a b
python3 x.py
sh x.sh
awk 1 f
docker run img
ssh host rm
xargs rm
pip install x
kubectl exec p
ninja all
mvn test
rm a
cp a b
git clone -q
git clone x -q
git push origin
./x y""".splitlines(),
)
@pytest.mark.clause("APR-1")
def test_under_is_not_on_offer_where_operands_run_or_nothing_may_vary(text: str) -> None:
    """Targets of code, scripts, packages and expressions are no names of data."""
    assert wider(text) == []


_TEXTS = st.text(string.ascii_letters + string.digits + " -=:/.~+@%$*'\"#;|&<>(){}`\\\n!,", min_size=1, max_size=12)
_ADDED = st.one_of(
    _TEXTS,
    st.sampled_from(["-c", "--config", "-u", "-oX", "--template=x", "--", "ext::sh", "x=y", "/etc", "..", ".git", "-"]),
    st.builds("--{}={}".format, st.text(string.ascii_lowercase, min_size=1, max_size=5), _TEXTS),
)
_PREFIXES = st.sampled_from(
    [
        "cd x && ",
        "cd x; ",
        "export A=b; ",
        "A=b ",
        "env -i ",
        "env A=b ",
        "echo x | ",
        "f() { :; }; ",
        "sudo ",
        "set -a; ",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["make test", "rm -r build", "python3 x.py"]), _PREFIXES, st.lists(_ADDED, max_size=3))
@pytest.mark.clause("APR-1")
def test_nothing_put_before_or_behind_a_granted_target_is_covered(text: str, prefix: str, added: list[str]) -> None:
    """Unless the shell drops it: blanks, comments, and commands that only read."""
    held = target(text)
    assert not all_covered(held, analyse(f"{prefix}{' '.join([text, *added])}"))


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(["git clone x", "git push origin x", "mkdir -p x", "touch x"]), st.lists(_ADDED, min_size=1))
@pytest.mark.clause("APR-1")
def test_whatever_is_added_to_an_approved_command_is_covered_only_by_the_told_rule(text: str, added: list[str]) -> None:
    """The same command and options with other plain operands; all else is another command."""
    found = analyse(" ".join([text, *added]))
    if not all_covered(wider(text), found):
        return
    head = [word for word in text.split() if word != "x"]
    for command in found.commands:
        words = [word.text for word in command.words]
        if command.effect is Effect.READ:
            continue
        assert words[: len(head)] == head
        assert not any((command.writes, command.assignments, command.where, command.setting, command.folder))
        for word in words[len(head) :]:
            assert not word.startswith(("-", "/", "+", "~"))
            assert not set(word) & set("=:%*?[$`'\" ")
            assert ".." not in word.split("/")
