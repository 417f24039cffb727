"""Variables that are set out of the way, programs by other names, and words that are more than data."""

import pytest

from host.passport import Effect
from host.policy.shell.analysis import analyse
from host.policy.shell.extent import all_covered, exact

SETTING = [
    "[[ 1 -eq PATH=5 ]]",
    "[[ PATH=5 -eq 1 ]]",
    "[[ ! ( a -eq b && 1 -lt PATH++ ) ]]",
    '[[ 1 -eq "PATH                    = 5" ]]',
    "echo ${a[PATH=5]}",
    "echo ${#a[PATH=5]}",
    'echo "${a[PATH=5]}"',
    "echo ${x:(PATH=5):2}",
    "echo ${x:$((PATH=5))}",
    "echo ${x#${a[PATH=5]}}",
    "echo ${x/${a[PATH=5]}/b}",
    "echo ${x^^${a[PATH=5]}}",
    "echo ${x:-$[PATH=5]}",
    "[[ x =~ ${a[PATH=5]} ]]",
    "[[ a == *$[PATH=5]* ]]",
    "echo \\\\${a[0]}; [[ x =~ ${a[PATH=5]} ]]",
    "cat <<E\n${a[PATH=5]}\nE",
    "a[PATH=5]=1",
    "a[PATH=5]+=1",
    "a=([PATH=5]=1)",
    "a+=( x [PATH                 = 5]=1 )",
    "declare a[PATH=5]=1",
    "declare -a a=([PATH=5]=1)",
    "export a[PATH=5]=1",
    "((                PATH               =5))",
    "for ((PATH=5;PATH<6;PATH++)); do ls; done",
    "echo $((PATH[0]=5))",
    "PATH[0]=5",
    ": ${PATH:=5}",
    "x=PATH; : ${!x:=5}",
    "declare -n x=PATH; x=5",
    "for PATH in a; do ls; done",
    "select PATH in a; do ls; done",
    "coproc PATH { ls; }",
    "read -ra PATH",
    "time read -r PATH",
    "mapfile PATH",
    "getopts a PATH",
    "wait -n -p PATH",
    "printf -v PATH 5",
    "unset PATH",
    "let PATH=5",
    ": {PATH}</dev/null",
    "exec {PATH}</dev/null",
    ": {PA\\\nTH}\\\n</dev/null",
    "ls {PATH}>&1",
    "ls {PATH}<<<x",
    "ls {a[PATH=5]}<f",
    "PATH=5 exec",
    "eval PATH=5//eval",
    "eval eval PATH=5",
    "PA\\\nTH=5",
    "export x=1 </dev/null PATH=5",
    "unset x </dev/null PATH",
    "export BASH_ENV",
    "declare -x BASH_ENV",
    "readonly PATH",
    "f() { local PATH; ls; }",
]
FORMATS = [
    *(f"%{length}n" for length in ("", "h", "hh", "l", "ll", "j", "z", "t", "L")),
    *("%1$n", "%1$ln", "%*n", "%.*ln", "%-5.3ln", "%(%Y)T%n", "%s%+ln", "%%%ln", "\\%ln", "%\\x6cn", "x%5n"),
]


def reads(text: str) -> bool:
    """Return whether a text runs without a question."""
    return analyse(text).effect is Effect.READ


@pytest.mark.parametrize("text", SETTING)
@pytest.mark.clause("POL-5")
def test_what_sets_a_variable_that_rules_others_is_no_reading(text: str) -> None:
    """Arithmetic, subscripts, redirections and builtins set it as an assignment does."""
    assert not reads(text)
    assert not reads(f"ls; {text}; ls")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.clause("POL-5")
def test_a_format_that_stores_is_no_reading(form: str) -> None:
    """`printf` stores how much it printed, with any length and width between the two letters."""
    for text in (f"printf '{form}' PATH", f'printf -- "{form}" 1 PATH', f"command printf '{form}' 1 PATH"):
        assert not reads(text)
    assert not reads(f"x='{form}'; printf \"$x\" PATH")


@pytest.mark.parametrize(
    "text",
    [
        "i=0; a[i]=5; echo ${a[i+1]} ${#a[@]} ${x:0:3} ${x: -3}",
        "a=([1]=2 [abc]*.txt x)",
        "declare -A m=([a]=1 [b]=2); echo ${m[a]}",
        "for ((i=0;i<5;i++)); do echo $i; done",
        "while ((i<5)); do ((i++)); done",
        "[[ x -eq 1 || a = b ]]",
        "[[ $x =~ ^${HOME}/ ]]",
        "grep '${x[0]} $[a]' f",
        "cat <<'E'\n${x[0]} $[a]\nE",
        "exec {fd}<f; cat <&$fd; exec {fd}<&-",
        "echo {a} >/dev/null",
        'echo "{PATH}" >/dev/null',
        "printf '50%\\n'",
        'printf "%-10s|%5d %s%%\\n" a 1 "$x"',
        "printf '%(%F %T)T\\n' -1",
        "printf -v out %s x",
        "read -r line; IFS=, read -ra parts",
        "wait $!; wait -p id",
        "declare -p PATH; export -p",
        "FOO=1 env",
    ],
)
@pytest.mark.clause("POL-5")
def test_what_sets_nothing_that_matters_reads(text: str) -> None:
    """Variables of the text's own are its business."""
    assert reads(text)


@pytest.mark.parametrize(
    "text",
    [
        "printf '%ln' PATH",
        ": {PATH}>/dev/null",
        "echo x {PATH}>&1",
        "ls {PATH}>&2 | cat",
        "echo ${a[PATH=5]}",
        "[[ 1 -eq PATH=5 ]]",
        "a[PATH=5]=1",
        "declare a[PATH=5]=1",
        "x=([PATH=5]=1)",
        "getopts PATH x",
        "wait -p PATH",
        "export BASH_ENV",
    ],
)
@pytest.mark.clause("APR-1", "POL-5")
def test_a_grant_does_not_reach_behind_a_variable_that_is_set(text: str) -> None:
    """What a granted command runs would be another program."""
    push = "git push origin main"
    held = [line for each in analyse(push).commands if (line := exact(each)) is not None]
    assert all_covered(held, analyse(f"ls; {push}"))
    assert not all_covered(held, analyse(f"{text}; {push}"))


@pytest.mark.parametrize(
    "text",
    [
        "./nice ls",
        "tool/timeout 5 ls",
        "~/bin/nice ls",
        "/opt/x/env ls",
        "./env",
        "./bash -c ls",
        "./eval ls",
        "./command ls",
        "./exec ls",
        "ls | bin/xargs cat",
        "nice ./ls",
        "find . -exec ./cat {} +",
        "./find . -name x",
        "/workspace/ls",
        "~/bin/cat x",
        "/usr/bin/../../workspace/ls",
        "./cat <<E | sh\nls\nE",
    ],
)
@pytest.mark.clause("POL-5")
def test_a_file_that_is_named_like_a_program_is_not_that_program(text: str) -> None:
    """Only the shell's own names and the system's folders count."""
    assert not reads(text)


@pytest.mark.clause("APR-1", "POL-5")
def test_a_grant_does_not_cover_a_command_under_a_file_named_like_a_wrapper() -> None:
    """The file may run anything, or the command under anything."""
    held = [line for each in analyse("make test").commands if (line := exact(each)) is not None]
    assert all_covered(held, analyse("/usr/bin/nice make test"))
    assert not all_covered(held, analyse("./nice make test"))
    assert not all_covered(held, analyse("./bash -c 'make test'"))


@pytest.mark.parametrize(
    "text",
    [
        "exec -a bunzip2 bzcat f.bz2",
        "exec -a pkill pgrep sleep",
        "exec -apkill pgrep sleep",
        "exec -ca unxz xzcat f.xz",
        "exec -c -a unxz xzcat f.xz",
        "(exec -a gunzip gzip -c x)",
        "xxd -c -ps a victim",
        "xxd -s -ps a victim",
        "xxd -l -plain a victim",
        "xxd -o -ps a victim",
        "xxd a -p",
        "xxd a -c",
        "uniq a \\ ; ls",
        "uniq a \r",
        "ls | tee \f",
        "uniq a \\  # x",
        "nm -t @opts a",
        "objdump -j @opts a",
        "strings -n @opts a",
        "readelf -p @opts a",
        'strings "$foo@opts"',
        'read x; size "$x"',
        "strings -- *.o",
        "strings {@,a}x",
        'git reflog "d$x"',
        'git reflog "$x"',
        'git reflog -n "$x" HEAD',
        "git log --format='%h %G?'",
        "git log --pretty '%GK'",
        "git tag --format='%(signature)'",
        "git for-each-ref --sort=-signature",
        'x=%GK; git log --format="$x"',
        'tar tf "$x"',
        'tar tf "a$x"',
        "tar tf host:a.tar",
        "gawk 1 /inet/tcp/0/h/80",
        "awk 'BEGIN { ARGV[1] = \"/inet/tcp/0/h/80\"; ARGC = 2 } 1'",
        "awk 'BEGIN { x == ARGV[1] = \"a\" }'",
        'awk \'BEGIN { split("/inet/tcp/0/h/80", ARGV, "x") }\'',
        "xmllint http://h/x",
        "rpm -qp HTTP://h/x.rpm",
        "getent hosts name",
        "getent ahosts name",
    ],
)
@pytest.mark.clause("POL-5")
def test_a_word_that_is_more_than_data_is_no_reading(text: str) -> None:
    """It names another program, an option, a sub-command, a program to run or another machine."""
    assert not reads(text)


@pytest.mark.parametrize(
    "text",
    [
        "exec ls",
        "exec -c ls",
        "xxd -ps a",
        "xxd -plain -l 16 a",
        "xxd -l 16 -ps a",
        "nm -D a.so",
        "strings $(which ls)",
        "strings -n 8 ./*.o",
        'readelf -h "$(which python3)"',
        "git reflog",
        "git reflog -n 5",
        'git reflog show "$branch"',
        "git log --format='%h %gd %s' --grep=signature",
        'git log --format="$x"',
        "tar tf ./a.tar",
        'tar tf "./$x"',
        'for f in ./*.tar; do tar tf "$f"; done',
        "awk '{ print }' \"$x\"",
        "awk 'FILENAME == ARGV[1] { seen[$1] = 1; next } 1' a b",
        "xmllint --noout a.xml",
        "rpm -qp a.rpm",
        "getent passwd root",
        "getent hosts",
        "/usr/bin/nice -n 5 /bin/ls",
        "/bin/bash -c ls",
    ],
)
@pytest.mark.clause("POL-5")
def test_the_same_programs_read_in_their_usual_forms(text: str) -> None:
    """What is closed costs no ordinary command a question."""
    assert reads(text)


@pytest.mark.parametrize(
    "text",
    [
        "sort -\\\no victim a",
        "sort -\\\n\\\no victim a",
        "sort \\\\-\\\no victim a",
        "ls >&1\\\n-victim",
        "ls >/dev/null\\\nx",
        "ls >\\\n>victim",
        "ls $\\\n(touch victim)",
        "x=\\\n([PATH=5]=1)",
        "(\\\n(PATH=5))",
    ],
)
@pytest.mark.clause("POL-5")
def test_a_line_that_goes_on_within_a_word_is_one_word(text: str) -> None:
    """The parser takes the end of the line for a blank, bash does not."""
    assert not reads(text)


@pytest.mark.parametrize(
    "text",
    [
        "grep -rn x \\\n  src \\\n  | sort -u \\\n  | head",
        "ls a \\\nb",
        "ls a\\\n b",
        "ls|\\\nsort",
        "ls &&\\\nls",
        'echo "a\\\nb"',
        "echo 'a\\\nb'",
        "cat <<'E'\nRUN a &&\\\nb\\\nc\nE",
        "ls >\\\n/dev/null",
    ],
)
@pytest.mark.clause("POL-5")
def test_a_line_that_goes_on_between_words_is_as_plain_as_before(text: str) -> None:
    """Long commands are written over several lines."""
    assert reads(text)


@pytest.mark.parametrize("blank", ["\\ ", "\\\t", "\r", "\v", "\f", "\\\\\\ "])
@pytest.mark.clause("POL-5")
def test_what_is_a_comment_to_the_parser_alone_is_no_reading(blank: str) -> None:
    """To bash the sign stands within a word there, and what follows is run."""
    assert not reads(f"ls {blank}#;touch victim")
    assert not reads(f"time {blank}#> victim")
    assert not reads(f"export x {blank}#;touch victim")
    assert not reads(f"ls > /dev/null {blank}#;touch victim")


@pytest.mark.parametrize("text", ["x=(a)#;touch victim", "declare x=(a)#;touch victim", "`ls`#;touch victim"])
@pytest.mark.clause("POL-5")
def test_a_sign_behind_the_end_of_a_word_begins_no_comment(text: str) -> None:
    """The word goes on there."""
    assert not reads(text)


@pytest.mark.parametrize(
    "text",
    [
        "ls # x",
        "# x",
        "ls;# x",
        "(ls) # x",
        "ls |# x\ncat",
        "x=(a # c\nb)",
        "ls\n\n  # b\nls",
        "ls # a \\\nls",
        "ls \\\\ # x",
    ],
)
@pytest.mark.clause("POL-5")
def test_comments_hide_nothing(text: str) -> None:
    """They are as plain as the commands beside them."""
    assert reads(text)


@pytest.mark.parametrize(
    "text",
    [
        "zless f.gz",
        "tar -xOf a.tar f",
        "tar xzOf a.tgz f",
        "openssl x509 -noout -text -in f.pem",
        'openssl x509 -in "$f" -noout -enddate',
        "openssl dgst -sha256 f",
        "openssl sha256 f",
        "openssl version",
        "bat -p --line-range=1:5 f",
        "shellcheck -s bash a.sh",
        "bash -n a.sh",
        'sh -n "$f"',
        "pdftotext -layout a.pdf -",
        "pdfinfo a.pdf",
        "7z l -slt a.7z",
        "ffprobe -v error -show_entries format=duration -of default=nw=1 a.mp4",
        "DEBUG=1 ls",
        "LOG=app.log; grep -c x $LOG",
    ],
)
@pytest.mark.clause("POL-5")
def test_ordinary_looks_into_files_are_not_asked_about(text: str) -> None:
    """Archives, certificates, documents and scripts are looked into without a question."""
    assert reads(text)


@pytest.mark.parametrize(
    "text",
    [
        "tar xf a.tar",
        "tar -t -x -f a.tar",
        "tar xOf a.tar --to-command=x",
        "tar xOOf a.tar",
        "openssl x509 -in f -out g",
        "openssl x509 -in $f -noout",
        "openssl dgst -sign k f",
        "openssl dgst -sha256 *",
        "openssl rand -out f 16",
        "bat cache --build",
        "bat --pager ./x f",
        "bash a.sh",
        "bash -n -x a.sh",
        "bash -n a.sh b.sh",
        "zsh -n a.sh",
        "pdftotext a.pdf",
        "pdftotext a.pdf b",
        'pdftotext a.pdf "$x"',
        "7z x a.7z",
        "7z l a.7z @list",
        "7z l a.7z -ob",
        "ffprobe -report a.mp4",
        "ffprobe http://h/x",
        "LD_DEBUG=1 ls",
    ],
)
@pytest.mark.clause("POL-5")
def test_what_the_same_programs_do_beside_looking_is_asked_about(text: str) -> None:
    """They unpack, write, sign, fetch and run as well."""
    assert not reads(text)
