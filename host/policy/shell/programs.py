"""Programs that only read, by name: those that do whatever their options say, and those that do in some sub-commands.

Plain tables; `options` holds the programs for which single options matter, `reading` judges.
"""

import re
from typing import Final


def named(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


# No option of these, in any of their usual versions, writes a file or runs a program that the command line names.
ANYTHING: Final = named(
    """
    : [ [[ acpi addr2line apropos apt-cache arch b2sum base32 base64 basename basenc bc break bzcat bzgrep c++filt
    cal cat cd cksum clear cmp colordiff colrm column comm continue cut declare df diff diff3 dir dirname dirs
    dpkg-query du echo egrep exa exit expand export expr eza factor false fgrep findmnt fmt fold free getconf getent
    getopts grep groups hd head hexdump hostid id iostat jobs join jq last lastb let local locale logname look ls
    lsblk lscpu lsd lslocks lsmod lsns lsof lspci lsusb lzcat md5sum mpstat namei ncal netstat nl nm nproc numfmt
    objdump od paste pathchk pgrep pidof pmap popd pr printenv ps pstree pushd pwd readelf readlink readonly
    realpath return rev seq sha1sum sha224sum sha256sum sha384sum sha512sum shift shopt size sleep stat strings sum
    tac tail test times tokei tput tr true tsort tty type typeset ulimit umask uname unexpand unset uptime users
    vdir vmstat w wait wc whatis whereis which who whoami xzcat xzgrep yes zcat zcmp zdiff zegrep zfgrep zgrep
    zipinfo zstdcat
    """,
)
# Programs whose named sub-commands (or leading options) read, whatever operands follow.
SUBCOMMANDS: Final = {
    "apt": named("depends list policy rdepends search show"),
    "brew": named("--prefix --version info list"),
    "cargo": named("--list --version -V tree version"),
    "conda": named("--version info list"),
    "docker": named("history images info inspect logs port ps stats top version"),
    "dpkg": named(
        """
        --contents --get-selections --info --list --listfiles --print-architecture --print-avail --search --status
        --verify --version -I -L -S -V -c -l -p -s
        """,
    ),
    "gem": named("--version list"),
    "go": named("version"),
    "hostnamectl": named("status"),
    "kubectl": named("api-resources cluster-info describe explain get logs top version"),
    "loginctl": named("list-sessions list-users session-status show-session"),
    "npm": named("--version -v list ll ls prefix root"),
    "openssl": named("version"),
    "pip": named("--version -V check freeze list show"),
    "pip3": named("--version -V check freeze list show"),
    "pnpm": named("--version list ls why"),
    "podman": named("history images info inspect logs port ps stats top version"),
    "rpm": named("--query --version -q -qR -qa -qc -qd -qf -qi -ql -qp -qpi -qpl"),
    "rustup": named("--version show"),
    "service": named("--status-all"),
    "snap": named("info list version"),
    "sysctl": named("--all -a -n"),
    "systemctl": named(
        """
        cat get-default help is-active is-enabled is-failed is-system-running list-dependencies list-sockets
        list-timers list-unit-files list-units show status
        """,
    ),
    "timedatectl": named("list-timezones show status timesync-status"),
    "ulimit": named("-a -c -f -l -n -s -u -v"),
    "yarn": named("--version list why"),
}
# Options of those that name a program, another configuration or a file to write.
LEADING_ASTRAY: Final = re.compile(
    r"--(?:config|kubeconfig|python|log$|log=|log-file|pipe|pre|post|eval|exec|script|shell|target-dir|manifest|host|machine"
    r"|option|root|plugin|rc|load|define|macros|dbpath|file|output=/|undefine|cache-dir|prefix|admindir|instdir)[\w-]*(?:=.*)?",
)
LEADING_ASTRAY_SHORT: Final = {
    "apt": named("-o -c"),
    "cargo": named("-Z -C"),
    "rpm": named("-D -E"),
    "systemctl": named("-H -M"),
    "dpkg": named("-D"),
}
# Tools that anything asks for its version, which they tell and do nothing else.
VERSIONED: Final = named(
    """
    R awk aws az bash black bun cargo cc clang clang++ cmake conda curl deno docker dotnet ffmpeg find fish g++ gawk
    gcc gcloud gh git-lfs go gpg gradle helm java javac julia kubectl lua make mvn mypy mysql nano nginx ninja node
    nodejs npm npx nvim openssl perl php pip pip3 pnpm poetry psql pytest python python2 python3 redis-server rsync
    ruby ruff rustc rustup sed sh sqlite3 ssh swift tar terraform tmux tsc uv vim wget yarn zip zsh
    """,
)
