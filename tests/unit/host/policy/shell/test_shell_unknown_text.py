"""Text that is not known is never taken for harmless: every way to it against every place where it would matter."""

import pytest

from host.passport import Effect
from host.policy.shell.analysis import analyse

# Ways in which `{}` stands where text is that the command line does not tell, or not plainly.
HIDINGS = (
    "x={}; {command} $x",
    "x={upper}; {command} ${{x,,}}",
    "x=a{}; {command} ${{x#a}}",
    "x={}a; {command} ${{x%a}}",
    "x=a{}; {command} ${{x:1}}",
    "x=q; {command} ${{x/q/{}}}",
    "y={}; x=y; {command} ${{!x}}",
    "x={start}; x+={end}; {command} $x",
    "x={}; y=$x; {command} $y",
    "x=a; x={}; {command} $x",
    "if true; then x=a; else x={}; fi; {command} $x",
    "while true; do {command} $c; c=$b; b=$a; a={}; done",
    "set -- {}; {command} $1",
    'set -- {}; {command} "$@"',
    "set -- b {}; shift; {command} $1",
    'f() {{ {command} "$@"; }}; f {}',
    "f() {{ {command} $1; }}; f {}",
    "a=({}); {command} ${{a[0]}}",
    'a=(b {}); {command} "${{a[@]:1}}"',
    "a[3]={}; {command} ${{a[3]}}",
    "read x <<< {}; {command} $x",
    "read -r x < opts; {command} $x",
    "mapfile -t x < opts; {command} ${{x[0]}}",
    "printf -v x %s {}; {command} $x",
    "printf -vx %s {}; {command} $x",
    "declare x={}; {command} $x",
    "export x={}; {command} $x",
    "eval x={}; {command} $x",
    "command eval 'x={}'; {command} $x",
    "for x in {}; do {command} $x; done",
    "for x in $(cat opts); do {command} $x; done",
    "while read x; do {command} $x; done < opts",
    "cat opts | while read x; do {command} $x; done",
    "{command} ${{nothing:-{}}}",
    "{command} ${{nothing-{}}}",
    "x=y; {command} ${{x:+{}}}",
    ": {}; {command} $_",
    "{command} $(cat opts)",
    "{command} $(echo {})",
    "{command} $(printf %s {})",
    "{command} {{{},b}}",
    "{command} $'{}'",
    '{command} ""{}',
    "echo {} | xargs {command}",
    "printf '%s\\n' {} | xargs {command}",
    "cat opts | xargs {command}",
    "head -1 opts | xargs {command}",
    "grep . opts | xargs {command}",
    "ls | xargs {command}",
    "xargs {command} < opts",
    "xargs -a opts {command}",
    "echo \\\\{} | xargs {command}",
    "echo 'a,{}' | xargs -d, {command}",
    "echo {} | xargs -I% {command} %",
    "sh -c '{command} $1' _ {}",
    "sh -c '{command} \"$0\"' {}",
    "bash -c '{command} \"$@\"' _ {}",
    "echo() {{ cat opts; }}; {command} $(echo b)",
    "x=; {command} $x {}",
)
# A program, and an option with which it writes.
WRITERS = (("find .", "-delete"), ("sort a", "-ovictim"), ("git log", "--output=victim"))


@pytest.mark.parametrize("hiding", HIDINGS)
@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer[0])
@pytest.mark.clause("POL-5")
def test_an_option_that_writes_is_not_hidden_by_an_expansion(hiding: str, writer: tuple[str, str]) -> None:
    """Only the plain value of a variable that is set to plain text is taken as told."""
    command, option = writer
    text = hiding.replace("{}", option).replace("{command}", command).replace("{upper}", option.upper())
    text = text.replace("{start}", option[:4]).replace("{end}", option[4:]).replace("{{", "{").replace("}}", "}")
    assert analyse(text).effect is Effect.EXECUTE, text


NAMES = (
    *(
        "PATH",
        "BASH_ENV",
        "ENV",
        "IFS",
        "PS4",
        "PROMPT_COMMAND",
        "SHELLOPTS",
        "BASHOPTS",
        "CDPATH",
        "HOME",
        "GLOBIGNORE",
    ),
    *("BASH_CMDS[ls]", "BASH_ALIASES[ls]", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GIT_DIR", "GIT_EXTERNAL_DIFF"),
    *(
        "GIT_CONFIG_COUNT",
        "GREP",
        "GREP_OPTIONS",
        "LESSOPEN",
        "PAGER",
        "MANPAGER",
        "TAR_OPTIONS",
        "RIPGREP_CONFIG_PATH",
    ),
    *(
        "PYTHONPATH",
        "PERL5OPT",
        "NODE_OPTIONS",
        "XDG_CONFIG_HOME",
        "http_proxy",
        "SOMETHING_NEW",
        "GCONV_PATH",
        "TMPDIR",
    ),
)
SETTINGS = (
    "{}=x; ls",
    "{}=x ls",
    "{}+=x; ls",
    "export {}=x; ls",
    "declare -x {}=x; ls",
    "f() { local {}=x; ls; }; f",
    "for {} in x; do ls; done",
    "env {}=x ls",
    "((  {}=1)); ls",
    "printf -v {} x; ls",
    "read {} <<< x; ls",
    "x={}; declare $x=y; ls",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.clause("POL-5")
def test_a_variable_that_may_rule_what_runs_is_not_set_unasked(name: str, setting: str) -> None:
    """Names are an allow-list: what nobody thought of rules."""
    assert analyse(setting.replace("{}", name)).effect is Effect.EXECUTE


SOURCES = (
    "x=$(cat f)",
    "read x < f",
    "x='a[$(touch p)]'",
    "x='a[$'; x+='(touch p)]'",
    "mapfile -t x < f",
    "x=$(ls | head -1)",
)
EVALUATIONS = (
    "echo $((x))",
    "echo $((1 + x * 2))",
    "echo $[x]",
    "((x))",
    "((y = x))",
    "((x++))",
    "[[ $x -eq 0 ]]",
    "[[ 0 -lt $x ]]",
    '[[ "$x" -ge 1 && -n $y ]]',
    "[[ x -ne 1 ]]",
    "[[ -v $x ]]",
    '[ -v "$x" ]',
    'test -v "$x"',
    "[ $x = y ]",
    "echo ${y:x}",
    "echo ${y:0:$x}",
    "echo ${y[x]}",
    "echo ${y[$x]}",
    "y[x]=1",
    "y[$x]=1",
    "y=([x]=1)",
    "for ((i = 0; i < x; i++)); do ls; done",
    "let x",
    "declare -i y=x",
    "unset y[$x]",
    'unset "$x"',
    "echo ${!x}",
    'echo "${x@P}"',
)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("evaluation", EVALUATIONS)
@pytest.mark.clause("POL-5")
def test_text_that_is_not_known_is_not_evaluated_unasked(source: str, evaluation: str) -> None:
    """In arithmetic a subscript runs what it holds."""
    assert analyse(f"{source}; {evaluation}").effect is Effect.EXECUTE


@pytest.mark.parametrize(
    "text",
    [
        "sort -t $UNSET -k -ovictim f",
        "x=; sort -t $x -k -ovictim f",
        "sort -t $(true) -k -ovictim f",
        "if [ -f q ]; then x=-k; fi; sort -t $x -k -ovictim f",
        "sort < f -t $UNSET -k -ovictim",
        'declare PA"TH"=x; ls',
        "coproc ls",
        "x='[-]delete'; find . $x",
        'find . "$(echo [-]delete)"',
        "find . -d?lete",
        "find . -delet{e..e}",
        "find $PWD -name x",
        ": ${a[0]:=-delete}; find . $a",
        "declare -n r=x; r=-delete; find . $x",
        "find . -name '*.x' -exec awk {} \\;",
        "find . -name '*.x' -exec sh -c 'wc -l {}' \\;",
        "xargs find . <<< -delete",
        "find . $UNSET-delete",
        'find . "$UNSET-delete"',
        "y=$UNSET-delete; find . $y",
        "sort 2>/dev/null -t $UNSET -k -ovictim f",
        "wc() { cat opts; }; find . $(wc -l)",
        'declare -a "a=($(cat f))"',
        'x=$(cat f); declare -a a="($x)"',
        'x=$(cat f); a=(1); export a="($x)"',
        "x='($(touch p))'; declare -A a; declare a=$x",
        "((PATH=1)); ls",
    ],
)
@pytest.mark.clause("POL-5")
def test_words_that_move_or_come_apart_are_seen(text: str) -> None:
    """What an empty value leaves moves up; what has blanks, patterns, braces or parentheses becomes more words."""
    assert analyse(text).effect is Effect.EXECUTE


@pytest.mark.parametrize(
    "text",
    [
        "x=a; cat $x f",
        'x=a; sort -t "$x" -k 2 f',
        "f=notes.txt; grep -n todo $f",
        "FILE=a.txt; cat $FILE",
        'for i in 1 2 3; do sed -n "${i}p" f; done',
        'for f in *.py; do echo "${f%.py}"; wc -l "$f"; done',
        "for f in a b; do head -5 $f; done",
        "n=$(wc -l < f); echo $((n + 1))",
        "n=$(grep -c a f); echo $((n + 1))",
        "n=$(ls | wc -l); if [[ $n -gt 3 ]]; then echo many; fi",
        'while read -r line; do echo "$line"; done < f',
        'while IFS= read -r line; do echo "$line"; done < f',
        "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
        "for ((i=0;i<10;i++)); do echo $i; done",
        '[ "$(cat f)" = x ] && echo y',
        "[[ $(cat f) == x* ]] && echo y",
        "[[ -n $x && -f $y ]] && cat $y",
        "[ -v x ] && echo set",
        "((x++)); echo $x",
        "echo ${x:0:3} ${a[0]} ${#x} ${a[@]}",
        'a=(1 2 3); for i in "${a[@]}"; do echo $i; done',
        "LC_ALL=C sort f",
        "NO_COLOR=1 ls",
        "TZ=UTC date",
        "GIT_PAGER=cat git log",
        "v=$(git rev-parse HEAD); git show $v",
        "d=$(date +%F); ls logs/$d",
        'cd "$(git rev-parse --show-toplevel)" && ls',
        'find "$HOME" -name x',
        "f() { ls; }; f",
        "find . -name '*.x' -exec wc -l {} +",
        "find . -exec sh -c 'wc -l \"$1\"' _ {} \\;",
        "ls | xargs wc -l",
        "ls | xargs -I{} wc -l {}",
        "find . -name '*.py' | xargs grep foo",
        "git ls-files | xargs cat",
        "echo a b | xargs ls",
        "n=5; head -n $n f; tail -n +$((n+1)) f",
    ],
)
@pytest.mark.clause("POL-5")
def test_plain_values_numbers_and_loops_still_only_read(text: str) -> None:
    """Ordinary scripts that look at things are not stopped."""
    analysis = analyse(text)
    assert analysis.effect is Effect.READ, analysis.reason
