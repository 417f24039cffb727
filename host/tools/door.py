"""The one door of a sandbox that has no route out: a listening socket on its loopback, handed to the proxy (BOX-2).

A few lines of Perl inside the sandbox make the socket, pass it out over an inherited pair of sockets (SCM_RIGHTS), wait
until the proxy has it, and become the command. They take the place of the shell that otherwise waits for the command's
limits, so they run under these. Perl, because Debian's perl-base is on every machine and begins in 1.5 ms: Python takes
8 of the 20 ms that a start may take. Who listens at the other end is `browser.proxy`.
"""

import os
import shutil
from typing import Final

from host.errors import Unsupported

PORT: Final = 3128  # what proxies use; in a network namespace of its own nothing can be in its way
_ADDRESS: Final = f"http://127.0.0.1:{PORT}"
_NAMES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
VARIABLES: Final = {
    **{spelling: _ADDRESS for name in _NAMES for spelling in (name, name.lower())},
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1"),  # a command's own servers
}
"""How programs are told of the door; what does not look at these reaches nothing."""

_SENDMSG: Final = {"x86_64": 46, "aarch64": 211}
"""The call's number: Perl itself cannot send a descriptor, and its Socket module takes longer to load than Python."""

# The numbers are Linux's: AF_INET 2, SOCK_STREAM 1, SOL_SOCKET 1, SO_REUSEADDR 2, SCM_RIGHTS 1. What is opened here is
# closed when the command begins ($^F). Structures are packed as the kernel's msghdr, iovec and cmsghdr of 64 bits.
_SCRIPT: Final = f"""
my ($control, $sendmsg, $door, $word, $answers) = (shift, shift);
delete $ENV{{PERL_BADLANG}};
socket($door, 2, 1, 0) && setsockopt($door, 1, 2, pack("i", 1))
    && bind($door, pack("S n C4 x8", 2, {PORT}, 127, 0, 0, 1)) && listen($door, 64) or die "no door: $!\\n";
sysread(STDIN, $word, 3) == 3 or exit 125;
my $data = "d";
my $part = pack("P Q", $data, 1);
my $rights = pack("Q i i i x4", 20, 1, 1, fileno $door);
my $message = pack("Q L x4 P Q P Q i x4", 0, 0, $part, 1, $rights, length $rights, 0);
syscall($sendmsg, $control + 0, $message, 0) == 1 or die "no way to hand out the door: $!\\n";
open($answers, "+<&=", $control) && sysread($answers, $word, 1) == 1 or exit 125;
close $answers;
open(STDIN, "<", "/dev/null") or die "no empty input: $!\\n";
exec {{ $ARGV[0] }} @ARGV or die "no shell: $!\\n";
"""

QUIET: Final = {"PERL_BADLANG": "0"}
"""What Perl is told besides, and takes back before the command begins: it complains of a locale that is missing."""


def arguments(control: int) -> list[str]:
    """Return what runs in the sandbox before the command, which follows; raise Unsupported with the fix.

    `control` is the descriptor, inside, over which the socket is passed out.
    """
    perl, number = shutil.which("perl", path="/usr/bin"), _SENDMSG.get(os.uname().machine)
    if perl is None or number is None:
        raise Unsupported(_MISSING)
    return [perl, "-e", _SCRIPT, str(control), str(number)]


_MISSING: Final = (
    "shell is unavailable: with sandbox.network set it needs the system's own perl, in /usr/bin, to make the sandbox's "
    "door. Ask the operator to run: apt-get install -y perl-base"
)
