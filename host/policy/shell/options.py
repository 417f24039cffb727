"""The options that keep a program reading, for programs with others that write or run something.

Plain tables, and how a word of options is held against one. An option outside its table makes a command execute.
"""

from typing import Final

import msgspec

from host.policy.shell.programs import named


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options that keep a program reading."""

    letters: str = ""  # short ones; each that takes a value is followed by ":"
    longs: frozenset[str] = frozenset()  # long ones, without dashes; abbreviations of no other option count too
    writing: frozenset[str] = frozenset()  # long ones that write or run: an abbreviation of one counts as it
    operands: int | None = None  # at most as many; None: any number


def _options(letters: str, longs: str = "", writing: str = "", operands: int | None = None) -> Options:
    return Options(letters=letters, longs=named(longs), writing=named(writing), operands=operands)


LISTED: Final[dict[str, Options]] = {
    "sort": _options(
        "bdfghinMRrVcCmsuzk:t:S:T:",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort"
        " human-numeric-sort numeric-sort random-sort random-source reverse sort version-sort batch-size check debug"
        " files0-from key merge stable buffer-size field-separator temporary-directory parallel unique"
        " zero-terminated help version",
        "compress-program output",
    ),
    "uniq": _options(
        "cdDf:is:uzw:",
        "count repeated all-repeated skip-fields group ignore-case skip-chars unique zero-terminated check-chars help"
        " version",
        operands=1,
    ),
    "shuf": _options(
        "ei:n:rz", "echo input-range head-count random-source repeat zero-terminated help version", "output"
    ),
    "tree": _options(
        "adfxlL:P:I:pugshDFqNQrtcUvinAJXCS",
        "noreport charset filelimit dirsfirst du prune gitignore si inodes device timefmt matchdirs ignore-case sort"
        " help version",
        "output",
    ),
    "date": _options(
        "d:f:I::r:Ru",
        "date iso-8601 reference rfc-email rfc-3339 utc universal file debug resolution help version",
        "set",
    ),
    "hostname": _options(
        "AdfiIsy", "all-fqdns domain fqdn ip-address all-ip-addresses short long version help", "file boot", operands=0
    ),
    "file": _options(
        "bciEf:F:hiLkNnm:Pe:prsSvzZ0d",
        "brief mime mime-type mime-encoding dereference no-dereference exclude separator files-from keep-going"
        " magic-file uncompress version help extension raw special-files",
    ),
    "xxd": _options("abc:CeEg:hil:n:o:pPrRs:uv", operands=1),
    "rg": _options(
        "A:aB:bC:cd:E:e:Ff:g:HhIij:LlM:m:NnOopPqr:Ss.Tt:UuVvwxz0",
        """after-context before-context context count count-matches color colors column no-column case-sensitive
        ignore-case smart-case fixed-strings file files files-with-matches files-without-match follow glob iglob heading
        no-heading hidden json line-number no-line-number line-regexp max-columns max-count max-depth max-filesize
        multiline multiline-dotall no-config no-filename with-filename no-ignore no-ignore-vcs no-ignore-parent
        no-messages null only-matching passthru pcre2 pretty quiet regexp replace search-zip sort sortr stats text
        trim type type-not type-list unrestricted vimgrep word-regexp invert-match version help no-follow binary
        engine encoding crlf threads trace debug""",
        "pre pre-glob hostname-bin",
    ),
    "fd": _options(
        "HIuspgiFaldL0t:e:E:d:c:j:S:o:1q",
        """hidden no-ignore no-ignore-vcs unrestricted case-sensitive ignore-case glob regex fixed-strings absolute-path
        list-details follow full-path print0 type extension exclude max-depth min-depth color threads size
        changed-within changed-before owner max-results quiet version help strip-cwd-prefix""",
        "exec exec-batch",
    ),
    "less": _options(
        "NSRFXiInMqrsEeGJ", "LINE-NUMBERS chop-long-lines RAW-CONTROL-CHARS quit-if-one-screen no-init version help"
    ),
    "more": _options("dlfpcsu"),
    "man": _options(
        "kfwaWi1234578S:s:L:", "whatis apropos where path all locale sections regex wildcard help version", "pager html"
    ),
    "bat": _options(
        "pnAPr:l:H:",
        "plain number show-all language line-range highlight-line style color decorations paging theme version help",
        "pager",
    ),
    "dmesg": _options(
        "HTtxkuLlf:w",
        "human ctime kernel userspace level facility color reltime notime time-format decode",
        "clear console-level console-off console-on read-clear",
    ),
    "journalctl": _options(
        "abefiklmnqrxu:o:p:g:t:S:U:N:F:",
        """unit user-unit boot list-boots follow lines no-pager since until output priority grep reverse catalog dmesg
        identifier system user quiet utc all no-tail no-hostname disk-usage field fields merge case-sensitive
        output-fields show-cursor help version pager-end no-full""",
        "vacuum-size vacuum-time vacuum-files rotate flush sync relinquish-var setup-keys update-catalog cursor-file",
    ),
    "gzip": _options("cdltvkq", "stdout to-stdout list test decompress verbose", operands=None),
    "ss": _options(
        "tulpnaesmiwxo46rH",
        "tcp udp listening processes numeric all extended summary info memory options resolve no-header ipv4 ipv6",
        "kill diag",
    ),
    "top": _options("bn:d:p:u:Hco:w:"),
    "ip": _options("4 6 0 brofdsjpcth".replace(" ", ""), "brief color"),
    "crontab": _options("l", operands=0),
    "mount": _options("lt:", operands=0),
    "env": _options("0", "null", operands=0),
    "mapfile": _options("d:n:O:s:tu:"),
    "readarray": _options("d:n:O:s:tu:"),
    "wdiff": _options("123inswy:"),
    "alias": _options("p", operands=0),
    "arp": _options("anev"),
    "route": _options("nNe46", operands=0),
    "ifconfig": _options("asv", operands=1),
    "unzip": _options("lvZtqp"),
    "ldconfig": _options("pN", "print-cache"),
    "iconv": _options("f:t:lcs", "from-code to-code list", "output"),
    "history": _options("", operands=0),
}
