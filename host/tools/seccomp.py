"""The filter of system calls under which shell commands run (BOX-1), as raw classic BPF.

A deny list: what a build, a test run or a script needs works; what loads code into the kernel, makes namespaces and
mounts, looks into other processes, opens unusual sockets or makes a program that lends its owner's rights does not. The
numbers are those of the kernel's tables for x86_64 and aarch64; a process of any other architecture, or of x86's x32
variant, is killed. Needs no C library.
"""

import errno
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

# Instruction classes of classic BPF, as in linux/bpf_common.h.
_LOAD: Final = 0x20  # load a 32-bit word of seccomp_data
_EQUAL: Final = 0x15
_AT_LEAST: Final = 0x35
_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06

# Verdicts, as in linux/seccomp.h.
ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000  # the whole process
_ERROR: Final = 0x00050000

# Offsets in seccomp_data (both architectures are little-endian, the low half of an argument comes first).
_NUMBER: Final = 0
_ARCHITECTURE: Final = 4
_ARGUMENTS: Final = 16

_X32_BIT: Final = 0x40000000
_CLONE_NEW: Final = 0x7E020080  # every CLONE_NEW… flag: time, mount, cgroup, uts, ipc, user, pid, net
_TIOCSTI: Final = 0x5412  # types into the terminal
_TIOCLINUX: Final = 0x541C  # pastes into a console
_LENDING: Final = 0o6000  # set-uid and set-gid; a filter cannot tell a folder, for which the latter means no harm
_MAKING: Final = (
    0o20000100  # O_CREAT and the bit of O_TMPFILE that no other flag has; without them a mode means nothing
)
_SOCKETS: Final = (1, 2, 10)  # unix, inet, inet6: no netlink, packet, vsock, alg, …


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """The call numbers of one architecture."""

    audit: int  # AUDIT_ARCH_…
    x32: bool  # whether the architecture has the x32 variant, to be shut out
    denied: dict[str, int]
    clone: int
    ioctl: int
    socket: int
    modes: tuple[tuple[int, int], ...]  # calls that set a mode: number, and which argument the mode is
    opens: tuple[tuple[int, int], ...]  # calls that open, or make with a mode: number, which argument the flags are
    memory: tuple[int, ...]  # calls that make memory which no process has mapped


_SHARED: Final = {  # younger calls have one number everywhere
    "pidfd_getfd": 438, "move_mount": 429, "open_tree": 428, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "fspick": 433, "mount_setattr": 442, "quotactl_fd": 443, "open_tree_attr": 467,
}  # fmt: skip

_ABSENT: Final = {  # answered ENOSYS, on which callers fall back to older calls
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "clone3": 435, "openat2": 437,  # flags and modes lie behind a pointer, which a filter cannot follow
}  # fmt: skip

X86_64: Final = Numbers(
    audit=0xC000003E, x32=True, clone=56, ioctl=16, socket=41,
    # chmod, fchmod, creat, mknod, mknodat, fchmodat, fchmodat2; open, openat; shmget, memfd_create, memfd_secret
    modes=((90, 1), (91, 1), (85, 1), (133, 1), (259, 2), (268, 2), (452, 2)), opens=((2, 1), (257, 2)),
    memory=(29, 319, 447),
    denied=_SHARED | {
        "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "setns": 308, "unshare": 272,
        "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
        "kexec_load": 246, "kexec_file_load": 320, "init_module": 175, "finit_module": 313, "delete_module": 176,
        "create_module": 174, "get_kernel_syms": 177, "query_module": 178, "ptrace": 101, "kcmp": 312,
        "process_vm_readv": 310, "process_vm_writev": 311, "name_to_handle_at": 303, "open_by_handle_at": 304,
        "swapon": 167, "swapoff": 168, "reboot": 169, "acct": 163, "settimeofday": 164, "clock_settime": 227,
        "clock_adjtime": 305, "syslog": 103, "quotactl": 179, "nfsservctl": 180, "lookup_dcookie": 212,
        "fanotify_init": 300, "vhangup": 153, "sethostname": 170, "setdomainname": 171, "move_pages": 279,
        "migrate_pages": 256, "iopl": 172, "ioperm": 173, "modify_ldt": 154, "uselib": 134, "ustat": 136,
        "sysfs": 139, "_sysctl": 156,
    },
)  # fmt: skip

AARCH64: Final = Numbers(
    audit=0xC00000B7, x32=False, clone=220, ioctl=29, socket=198,
    # fchmod, mknodat, fchmodat, fchmodat2; openat; shmget, memfd_create, memfd_secret
    modes=((52, 1), (33, 2), (53, 2), (452, 2)), opens=((56, 2),), memory=(194, 279, 447),
    denied=_SHARED | {
        "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "setns": 268, "unshare": 97,
        "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282,
        "kexec_load": 104, "kexec_file_load": 294, "init_module": 105, "finit_module": 273, "delete_module": 106,
        "ptrace": 117, "kcmp": 272, "process_vm_readv": 270, "process_vm_writev": 271, "name_to_handle_at": 264,
        "open_by_handle_at": 265, "swapon": 224, "swapoff": 225, "reboot": 142, "acct": 89, "settimeofday": 170,
        "clock_settime": 112, "clock_adjtime": 266, "syslog": 116, "quotactl": 60, "nfsservctl": 42,
        "lookup_dcookie": 18, "fanotify_init": 262, "vhangup": 58, "sethostname": 161, "setdomainname": 162,
        "move_pages": 239, "migrate_pages": 238,
    },
)  # fmt: skip

_BY_MACHINE: Final = {"x86_64": X86_64, "aarch64": AARCH64}


class Instruction(NamedTuple):
    """One instruction; jumps are counted from the next one."""

    code: int
    if_true: int
    if_false: int
    operand: int


def numbers_of(machine: str) -> Numbers | None:
    """Return the call numbers of a machine as `os.uname` names it, None when there is no table for it."""
    return _BY_MACHINE.get(machine)


def program(numbers: Numbers, *, counted: bool = True) -> list[Instruction]:
    """Return the filter for one architecture.

    Where memory is not `counted` by control groups, calls that make memory which no process has mapped seem absent
    too: a sampler does not see it.
    """
    instructions = [
        Instruction(_LOAD, 0, 0, _ARCHITECTURE),
        Instruction(_EQUAL, 1, 0, numbers.audit),
        Instruction(_RETURN, 0, 0, KILL),
        Instruction(_LOAD, 0, 0, _NUMBER),
    ]
    if numbers.x32:
        instructions += [Instruction(_AT_LEAST, 0, 1, _X32_BIT), Instruction(_RETURN, 0, 0, KILL)]
    for number in sorted(numbers.denied.values()):
        instructions += _when_number(number, [_error(errno.EPERM)])
    for number in sorted((*_ABSENT.values(), *(() if counted else numbers.memory))):
        instructions += _when_number(number, [_error(errno.ENOSYS)])
    instructions += _when_number(numbers.clone, _forbid(0, _ANY_BIT, [_CLONE_NEW]))
    instructions += _when_number(numbers.ioctl, _forbid(1, _EQUAL, [_TIOCSTI, _TIOCLINUX]))
    instructions += _when_number(numbers.socket, _permit(0, _SOCKETS, errno.EAFNOSUPPORT))
    for number, mode in numbers.modes:
        instructions += _when_number(number, _forbid(mode, _ANY_BIT, [_LENDING]))
    for number, flags in numbers.opens:  # the mode follows the flags
        instructions += _when_number(number, [*_unless(flags, _MAKING), *_forbid(flags + 1, _ANY_BIT, [_LENDING])])
    return [*instructions, Instruction(_RETURN, 0, 0, ALLOW)]


def packed(instructions: Sequence[Instruction]) -> bytes:
    """Return the filter as the kernel's array of `struct sock_filter`."""
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions)


def _error(number: int) -> Instruction:
    return Instruction(_RETURN, 0, 0, _ERROR | number)


def _when_number(number: int, then: list[Instruction]) -> list[Instruction]:
    return [Instruction(_EQUAL, 0, len(then), number), *then]


def _unless(argument: int, bits: int) -> list[Instruction]:
    """Allow the call when its argument has none of the bits, else go on."""
    load = Instruction(_LOAD, 0, 0, _ARGUMENTS + 8 * argument)
    return [load, Instruction(_ANY_BIT, 1, 0, bits), Instruction(_RETURN, 0, 0, ALLOW)]


def _forbid(argument: int, test: int, operands: Sequence[int]) -> list[Instruction]:
    """Refuse the call when one of the tests on its argument holds, else allow it."""
    load = Instruction(_LOAD, 0, 0, _ARGUMENTS + 8 * argument)
    tests = [Instruction(test, len(operands) - index, 0, operand) for index, operand in enumerate(operands)]
    return [load, *tests, Instruction(_RETURN, 0, 0, ALLOW), _error(errno.EPERM)]


def _permit(argument: int, operands: Sequence[int], otherwise: int) -> list[Instruction]:
    """Allow the call when its argument is one of these, else refuse it with the error `otherwise`."""
    load = Instruction(_LOAD, 0, 0, _ARGUMENTS + 8 * argument)
    tests = [Instruction(_EQUAL, len(operands) - index, 0, operand) for index, operand in enumerate(operands)]
    return [load, *tests, _error(otherwise), Instruction(_RETURN, 0, 0, ALLOW)]
