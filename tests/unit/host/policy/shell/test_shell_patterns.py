"""Denials fit parsed commands, not text."""

import pytest

from host.policy.shell.analysis import analyse
from host.policy.shell.patterns import Fit, fit


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
    assert fit("git push *", analyse(text)) is Fit.YES


@pytest.mark.parametrize(
    "text", ["git log push", "echo git push", "git pull", "grep 'git push' f", "git log $x", "git commit -m 'git push'"]
)
@pytest.mark.clause("POL-5")
def test_a_denial_fits_nothing_else(text: str) -> None:
    """Words in quotes and operands of other commands are no such command."""
    assert fit("git push *", analyse(text)) is Fit.NO


def test_a_pattern_without_a_star_fits_only_the_whole_command() -> None:
    """`*` stands for the rest, or for a part of a word."""
    assert fit("npm publish", analyse("npm publish")) is Fit.YES
    assert fit("npm publish", analyse("npm publish x")) is Fit.NO
    assert fit("pip* install *", analyse("pip3 install x")) is Fit.YES
    assert fit("git push --force *", analyse("git push origin --force main")) is Fit.YES
    assert fit("git push --force *", analyse("git push origin main")) is Fit.NO


@pytest.mark.clause("APR-2")
def test_the_canonical_form_is_the_same_for_every_spelling() -> None:
    """An intent is the parsed command, not its quoting."""
    texts = {
        analyse(text).commands[0].text
        for text in ("rm 'a b'", 'rm "a b"', "r\\m a\\ b", "sh -c \"rm 'a b'\"", "timeout 5 rm 'a b'")
    }
    assert texts == {"rm 'a b'"}
