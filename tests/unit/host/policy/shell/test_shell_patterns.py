"""Denials and grants fit parsed commands, not text."""

import pytest

from host.policy.shell.analysis import analyse
from host.policy.shell.patterns import Grant, all_covered, covers, denied_by, grant_exact, grant_under


def exact(text: str) -> Grant:
    """Return the exact grant of a text's only command."""
    (command,) = analyse(text).commands
    grant = grant_exact(command)
    assert grant is not None
    return grant


def under(text: str) -> Grant:
    """Return the wider grant of a text's only command."""
    (command,) = analyse(text).commands
    grant = grant_under(command)
    assert grant is not None
    return grant


@pytest.mark.parametrize(
    "text",
    [
        "git push",
        "git push origin main",
        "git -C sub push",
        "git -c a.b=c push -f",
        'g"i"t push',
        "/usr/bin/git push",
        "true && git push",
        "sh -c 'git push'",
        "x=$(git push)",
        "timeout 9 git push",
        "git $x origin",
        "$(echo git) push",
        "sudo git push",
        "git --no-pager push x",
    ],
)
@pytest.mark.clause("POL-5")
def test_a_denial_fits_the_command_however_it_is_written(text: str) -> None:
    """Quoting, wrappers, global options and words that are not known do not get round it."""
    assert denied_by(["git push *"], analyse(text)) == "git push *"


@pytest.mark.parametrize(
    "text", ["git log push", "echo git push", "git pull", "grep 'git push' f", "git log $x", "git commit -m 'git push'"]
)
@pytest.mark.clause("POL-5")
def test_a_denial_fits_nothing_else(text: str) -> None:
    """Words in quotes and operands of other commands are no such command."""
    assert denied_by(["git push *"], analyse(text)) is None


def test_a_pattern_without_a_star_fits_only_the_whole_command() -> None:
    """`*` stands for the rest, or for a part of a word."""
    assert denied_by(["npm publish"], analyse("npm publish"))
    assert denied_by(["npm publish"], analyse("npm publish x")) is None
    assert denied_by(["pip* install *"], analyse("pip3 install x"))
    assert denied_by(["git push --force *"], analyse("git push origin --force main"))
    assert denied_by(["git push --force *"], analyse("git push origin main")) is None


@pytest.mark.clause("APR-1")
def test_a_grant_covers_the_inner_command_never_the_shell() -> None:
    """What was granted out of a shell's text does not let that shell run anything else."""
    grant = exact("/bin/zsh -lc 'make test'")
    assert all_covered([grant], analyse("make test"))
    assert all_covered([grant], analyse("bash -c \"'make' test\""))
    assert not all_covered([grant], analyse("/bin/zsh -lc 'rm x'"))
    assert not all_covered([exact("touch a")], analyse("touch a; rm x"))


@pytest.mark.parametrize(
    "text",
    [
        "make test > f",
        "CC=./x make test",
        "ssh host make test",
        "sudo make test",
        "make test; rm x",
        "make test | tee f",
        "make $x",
        "make test && $y",
    ],
)
@pytest.mark.clause("APR-1")
def test_an_exact_grant_covers_no_other_command(text: str) -> None:
    """A redirection, a variable, another machine or more rights make another command."""
    assert not all_covered([exact("make test")], analyse(text))


@pytest.mark.clause("APR-1")
def test_a_pipeline_is_covered_when_each_of_its_commands_is() -> None:
    """Commands that only read need no grant."""
    grants = [exact("make test")]
    assert all_covered(grants, analyse("make test | grep -c ok"))
    assert not all_covered(grants, analyse("make test | sh"))


@pytest.mark.clause("APR-1")
def test_an_under_grant_covers_the_sub_command_without_executing_options() -> None:
    """`git fetch` whatever it fetches, but not with a program to run."""
    grant = under("git fetch origin")
    assert all_covered([grant], analyse("git -C sub fetch upstream main"))
    for text in (
        "git push",
        "git fetch --upload-pack=./x .",
        "git -c core.sshCommand=./x fetch",
        "GIT_SSH_COMMAND=./x git fetch",
        "git fetch > f",
    ):
        assert not all_covered([grant], analyse(text)), text


@pytest.mark.clause("APR-1")
def test_what_is_asked_each_time_cannot_be_granted() -> None:
    """Neither raised rights nor guesses nor the floor."""
    for text in ("sudo make", "make $x", "rm -rf /"):
        for command in analyse(text).commands:
            assert grant_exact(command) is None
            assert grant_under(command) is None
            assert not covers(Grant(reach=exact("make test").reach, text=command.text), command)


@pytest.mark.clause("APR-2")
def test_the_canonical_form_is_the_same_for_every_spelling() -> None:
    """An intent is the parsed command, not its quoting."""
    texts = {
        analyse(text).commands[0].text
        for text in ("rm 'a b'", 'rm "a b"', "r\\m a\\ b", "sh -c \"rm 'a b'\"", "timeout 5 rm 'a b'")
    }
    assert texts == {"rm 'a b'"}
