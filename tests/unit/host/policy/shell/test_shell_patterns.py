"""Denials fit parsed commands, not text."""

import pytest

from host.policy.shell.analysis import analyse
from host.policy.shell.patterns import denied_by


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


RM = [
    "rm -fr x", "rm -r -f x", "rm --recursive --force x", "rm -rfv x", "rm x -rf", "rm -Rf x", "rm --recurs --forc x",
    "setarch x86_64 rm -rf x", "linux64 rm -rf x", "prlimit --nofile=9 rm -rf x", "choom -n 5 -- rm -rf x",
    "numactl -l rm -fr x", "systemd-inhibit --what=sleep rm -rf x", "docker exec box rm -rf x", "fd . -x rm -rf",
    "npx --yes rm -rf x", "uv run rm -rf x", "tmux new -d 'rm -rf x'", "screen -dm rm -rf x",
    "zip -T -TT 'rm -rf x' a b",
    "perl -e '`rm -rf x`'", "socat - EXEC:'rm -rf x'", "gdb -ex '!rm -rf x'", "compgen -C 'rm -rf x'",
    "some-new-launcher --flag /bin/rm -rf x", "strace --columns 9 rm -rf x", "ssh-agent rm -rf x",
]  # fmt: skip
OTHER: dict[str, list[str]] = {
    "npm publish *": ["npm -w a publish", "npm --workspace a publish", "npm --silent publish x"],
    "kubectl delete *": ["kubectl --as x delete pod y", "kubectl -n a --as=b delete pod y"],
    "cargo publish *": ["cargo +nightly publish", "cargo --color never publish"],
    "aws s3 rm *": ["aws --endpoint-url u s3 rm x", "aws --profile p s3 rm x"],
    "systemctl stop *": ["systemctl -n 3 stop x", "systemctl --message m stop x"],
    "pip install *": ["pip3 install x", "python3 -m pip install x", "pip --cache-dir d install x", "pip3.11 install x"],
    "make deploy *": ["make --directory d deploy", "make A=1 deploy", "make clean deploy", "gmake -j 4 deploy"],
    "git push *": ["git --attr-source x push", "git -c alias.p=push p", "git -c alias.p='!git push' p"],
    "git push -f *": ["git push --force x", "git push x -f", "git push -qf x"],
    "git push --force *": ["git push -f x", "git push --forc x"],
    "docker rm *": ["docker --log-level debug rm x", "sudo docker rm x"],
    "shutdown *": ["chroot /x shutdown now", "nsenter -t 1 shutdown", "doas shutdown"],
}


@pytest.mark.parametrize("text", RM)
@pytest.mark.clause("POL-5")
def test_neither_the_spelling_of_options_nor_a_program_around_it_gets_round_a_denial(text: str) -> None:
    """Whatever runs it, and whether anybody knows that program."""
    assert denied_by(["rm -rf *"], analyse(text)) == "rm -rf *"


@pytest.mark.parametrize(("pattern", "text"), [(pattern, text) for pattern, texts in OTHER.items() for text in texts])
@pytest.mark.clause("POL-5")
def test_a_sub_command_is_found_behind_options_that_nobody_listed(pattern: str, text: str) -> None:
    """An option may take a value or not: both are tried."""
    assert denied_by([pattern], analyse(text)) == pattern


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("rm -rf *", "rm -r x"),
        ("rm -rf *", "rm -f x"),
        ("rm -rf *", "grep -rf patterns rm"),
        ("rm -rf *", "echo rm -rf x"),
        ("rm -rf *", "git rm -rf x"),
        ("rm -rf *", "git commit -m 'rm -rf x'"),
        ("rm -rf *", "apt-get install rm -rf"),
        ("rm -rf *", "cat notes/rm"),
        ("git push *", "git log --grep push"),
        ("git push *", "git stash push"),
        ("git push *", "git log -n 3 push"),
        ("git push -f *", "git push origin main"),
        ("git push -f *", "git push --follow-tags origin"),
        ("npm publish *", "npm run build"),
        ("npm publish *", "npm run publish-docs"),
        ("make deploy *", "make build"),
        ("pip install *", "pip list"),
        ("sudo *", "grep sudo f"),
        ("sudo *", "apt install sudo"),
        ("shutdown *", "man shutdown"),
        ("docker rm *", "docker ps"),
        ("kubectl delete *", "kubectl get pods"),
    ],
)
@pytest.mark.clause("POL-5")
def test_ordinary_commands_are_not_taken_for_denied_ones(pattern: str, text: str) -> None:
    """What only looks like one is left to the rest of the policy."""
    assert denied_by([pattern], analyse(text)) is None


def test_a_pattern_without_a_star_fits_only_the_whole_command() -> None:
    """`*` stands for the rest, or for a part of a word."""
    assert denied_by(["npm publish"], analyse("npm publish"))
    assert denied_by(["npm publish"], analyse("npm publish x")) is None
    assert denied_by(["pip* install *"], analyse("pip3 install x"))
    assert denied_by(["git push --force *"], analyse("git push origin --force main"))
    assert denied_by(["git push --force *"], analyse("git push origin main")) is None


@pytest.mark.clause("APR-2")
def test_the_canonical_form_is_the_same_for_every_spelling() -> None:
    """An intent is the parsed command, not its quoting."""
    texts = {
        analyse(text).commands[0].text
        for text in ("rm 'a b'", 'rm "a b"', "r\\m a\\ b", "sh -c \"rm 'a b'\"", "timeout 5 rm 'a b'")
    }
    assert texts == {"rm 'a b'"}
