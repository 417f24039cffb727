"""Which words of a command are operands, and which may be the values of options in front of them.

A closed table tells of programs with sub-commands which options take a value and which stand alone. Behind an option
that it does not know the next word may be a value or an operand, and is told as both: no option hides a sub-command.
"""

from collections.abc import Container
from typing import Final

import msgspec

from host.policy.shell.word import Word, has_mark

# NAME: options that take a value; options that stand alone.
_TABLE: Final = """\
git: -C -c --git-dir --work-tree --namespace --config-env --attr-source --super-prefix; -p -P --paginate --no-pager
  --bare --no-replace-objects --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-lazy-fetch
  --no-optional-locks --no-advice --exec-path --html-path --man-path --info-path -v -h --version --help
docker, podman, nerdctl: -H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey --url
  --connection --identity --root --runroot --storage-driver; -D --debug --tls --tlsverify -r --remote
kubectl: -n --namespace --context --kubeconfig -s --server --cluster --user --as --as-group --as-uid --token -v --v
  --request-timeout --certificate-authority --client-certificate --client-key --cache-dir --password --username
  --profile --profile-output --tls-server-name --vmodule -l --selector -o --output -f --filename --field-selector;
  --insecure-skip-tls-verify --match-server-version --warnings-as-errors -A --all-namespaces
npm: --prefix -C --loglevel --registry --userconfig --globalconfig -w --workspace --tag --access --cache --otp --scope
  --omit --include --script-shell; -s --silent -q --quiet -d --verbose -g --global --workspaces --ws -f --force --json
  --dry-run --offline --prefer-offline --ignore-scripts --no-audit --no-fund -y --yes
yarn: --cwd --cache-folder --registry; -s --silent --verbose --json
pnpm: -C --dir --filter -F --registry --loglevel; -r --recursive -w --workspace-root -s --silent
systemctl: -H --host -M --machine -t --type -p --property -P -n --lines -o --output --root --image --state --what --when
  --message -s --signal --job-mode --kill-whom --kill-value --preset-mode --check-inhibitors --timestamp;
  -a --all -q --quiet -f --force -l --full -r --recursive --user --system --global --runtime --no-pager --no-block
  --no-legend --no-wall --no-reload --no-ask-password --now -i --failed --wait
loginctl: -H --host -M --machine -p --property -P -n --lines -o --output -s --signal --kill-whom;
  -a --all -l --full --no-pager --no-legend --no-ask-password
cargo: --config -C -Z --color --manifest-path --target-dir -p --package -j --jobs; -q --quiet -v --verbose --locked
  --offline --frozen --list
pip: --proxy --log --timeout --cache-dir --cert --client-cert --python --retries --exists-action --trusted-host
  --use-feature --use-deprecated --keyring-provider; -q --quiet -v --verbose --isolated --no-input --no-color --debug
  --no-cache-dir --disable-pip-version-check --require-virtualenv --no-python-version-warning
apt, apt-get: -o --option -c --config-file -t --target-release --default-release -a --host-architecture;
  -y --yes --assume-yes -q --quiet -s --simulate --dry-run -f --fix-broken -m -u -V -d --download-only
aws: --profile --region --output --endpoint-url --query --ca-bundle --color --cli-read-timeout --cli-connect-timeout
  --cli-binary-format; --debug --no-verify-ssl --no-paginate --no-sign-request --no-cli-pager --quiet --dryrun
helm: -n --namespace --kube-context --kubeconfig --registry-config --repository-cache --repository-config --kube-token
  --kube-apiserver --kube-as-user --kube-as-group --kube-ca-file --burst-limit --qps --kube-tls-server-name;
  --debug --kube-insecure-skip-tls-verify
gh: -R --repo --hostname; --help --version
make, gmake: -C --directory -f --file --makefile -I --include-dir -o --old-file --assume-old -W --what-if --new-file
  --assume-new --eval -E; -s --silent --quiet -k --keep-going -n --just-print --dry-run -B --always-make -i
  --ignore-errors -r -R -w -q -t -d -p -S -e --no-print-directory
go: -C; -x -v -n
uv: --directory --project --cache-dir --config-file --color --python-preference --allow-insecure-host;
  -q --quiet -v --verbose -n --no-cache --offline --no-config --no-progress --native-tls --no-python-downloads
poetry: -C --directory -P --project; -q --quiet -v -vv -vvv --verbose -n --no-interaction --no-cache --no-plugins
"""

# git's own sub-commands; another name is an alias, or a program `git-NAME`.
GIT_OWN: Final = frozenset(
    """
    add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap
    check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree
    config count-objects credential daemon describe diagnose diff diff-files diff-index diff-tree difftool fast-export
    fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc grep
    hash-object help hook index-pack init interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit
    maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv name-rev
    notes pack-objects pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase receive-pack reflog
    remote repack replace replay request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack
    shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule switch
    symbolic-ref tag
    unpack-file unpack-objects update-index update-ref update-server-info upload-archive upload-pack var verify-commit
    verify-pack verify-tag version whatchanged worktree write-tree
    """.split()  # noqa: SIM905 - one list a line is not to be read
)
GIT_FOUND: Final = frozenset({"lfs", "annex", "flow", "gui", "subtree", "svn", "p4", "filter-repo", "crypt", "absorb"})


def _table() -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    found: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    for line in _TABLE.replace("\n  ", " ").splitlines():
        names, _, options = line.partition(": ")
        values, _, alone = options.partition(";")
        entry = (frozenset(values.split()), frozenset(alone.split()))
        found |= {name.strip(): entry for name in names.split(",")}
    return found


_GLOBALS: Final = _table()
_NO_TABLE: Final = (frozenset[str](), frozenset[str]())


class Operand(msgspec.Struct, frozen=True):
    """A word that may be an operand."""

    word: Word
    at: int  # its place among the command's words
    sure: bool  # False: it may be an option's value, or come to nothing


def has_sub_commands(name: str) -> bool:
    """Whether a program is known to take its sub-command as its first operand."""
    return name in _GLOBALS and name not in {"make", "gmake"}


def operands_of(name: str, words: tuple[Word, ...]) -> list[Operand]:
    """Return what may be the operands of a program, in their order; `words` begin with the program."""
    values, alone = _GLOBALS.get(name, _NO_TABLE)
    found: list[Operand] = []
    at, doubtful = 1, False
    while at < len(words):
        word = words[at]
        if word.text == "--" and word.known:
            found += [Operand(each, place, True) for place, each in enumerate(words[at + 1 :], at + 1)]
            break
        if word.text[:1] == "-" and len(word.text) > 1:
            takes = word.text in values
            doubtful = not takes and "=" not in word.text and word.text not in alone
            at += 2 if takes else 1
            continue
        vanishes = not word.known and has_mark(word.text) and word.could_be_option
        found.append(Operand(word, at, not (doubtful or vanishes)))
        at, doubtful = at + 1, False
    return found


def could_be_first(name: str, words: tuple[Word, ...], wanted: Container[str]) -> bool:
    """Whether a program's first operand is, or could be, one of those."""
    for operand in operands_of(name, words):
        if operand.word.text in wanted:
            return True
        if operand.sure:
            return False
    return False
