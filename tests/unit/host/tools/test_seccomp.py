"""The filter of system calls, run on a small interpreter of its instructions."""

import errno
import struct
from collections.abc import Sequence

import pytest

from host.tools.seccomp import AARCH64, ALLOW, KILL, X86_64, Instruction, Numbers, numbers_of, packed, program

ABSENT = (425, 426, 427, 435, 437)
BOTH = pytest.mark.parametrize("numbers", [X86_64, AARCH64], ids=["x86_64", "aarch64"])


def _verdict(numbers: Numbers, number: int, *arguments: int, audit: int | None = None) -> int:
    """Run the filter on one call, as the kernel would."""
    instructions = program(numbers)
    arguments = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<IIQ6Q", number, numbers.audit if audit is None else audit, 0, *arguments)
    return _run(instructions, data)


def _run(instructions: Sequence[Instruction], data: bytes) -> int:
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, operand = instructions[at]
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, operand)
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x45:
                at += if_true if accumulator & operand else if_false
            case 0x06:
                return operand
            case _:
                pytest.fail(f"instruction {code:#x} is none that the filter should use")


def _error(number: int) -> int:
    return 0x00050000 | number


@BOTH
@pytest.mark.clause("BOX-1")
def test_every_dangerous_call_is_refused(numbers: Numbers) -> None:
    """Whatever its arguments."""
    assert {"mount", "ptrace", "bpf", "unshare", "setns", "keyctl", "kexec_load", "userfaultfd"} <= set(numbers.denied)
    for name, number in numbers.denied.items():
        assert _verdict(numbers, number, 1, 2, 3) == _error(errno.EPERM), name


@BOTH
@pytest.mark.clause("BOX-1")
def test_calls_whose_callers_fall_back_seem_absent(numbers: Numbers) -> None:
    """clone3 and openat2 hide flags and modes behind a pointer; io_uring goes round every filter."""
    for number in ABSENT:
        assert _verdict(numbers, number) == _error(errno.ENOSYS)


@BOTH
@pytest.mark.clause("BOX-1")
def test_clone_makes_processes_and_threads_but_no_namespaces(numbers: Numbers) -> None:
    """By its flags."""
    fork, thread, user_namespace, time_namespace = 0x11, 0x3D0F00, 0x10000000, 0x80
    assert _verdict(numbers, numbers.clone, fork) == ALLOW
    assert _verdict(numbers, numbers.clone, thread) == ALLOW
    assert _verdict(numbers, numbers.clone, fork | user_namespace) == _error(errno.EPERM)
    assert _verdict(numbers, numbers.clone, fork | time_namespace) == _error(errno.EPERM)


@BOTH
@pytest.mark.clause("BOX-1")
def test_only_ordinary_sockets_can_be_made(numbers: Numbers) -> None:
    """Unix and internet ones; not netlink, packet, vsock or the kernel's cryptography."""
    for family in (1, 2, 10):
        assert _verdict(numbers, numbers.socket, family) == ALLOW
    for family in (0, 16, 17, 38, 40):
        assert _verdict(numbers, numbers.socket, family) == _error(errno.EAFNOSUPPORT)


@BOTH
@pytest.mark.clause("BOX-1")
def test_nothing_can_be_typed_into_a_terminal(numbers: Numbers) -> None:
    """Other uses of ioctl work."""
    assert _verdict(numbers, numbers.ioctl, 0, 0x5412) == _error(errno.EPERM)
    assert _verdict(numbers, numbers.ioctl, 0, 0x541C) == _error(errno.EPERM)
    assert _verdict(numbers, numbers.ioctl, 0, 0x5413) == ALLOW


@BOTH
@pytest.mark.clause("BOX-1")
def test_a_process_of_another_architecture_is_killed(numbers: Numbers) -> None:
    """Its calls have other numbers, so the table would not hold."""
    assert _verdict(numbers, 0, audit=0x40000003) == KILL
    other = AARCH64 if numbers is X86_64 else X86_64
    assert _verdict(numbers, 0, audit=other.audit) == KILL


@pytest.mark.clause("BOX-1")
def test_x32_calls_are_killed_on_x86() -> None:
    """They are the same calls under other numbers."""
    assert _verdict(X86_64, 0x40000000 + 165) == KILL


@BOTH
def test_everyday_calls_pass(numbers: Numbers) -> None:
    """Every number that the table does not name."""
    named = {*numbers.denied.values(), *ABSENT, numbers.clone, numbers.ioctl, numbers.socket}
    for number in set(range(500)) - named:
        assert _verdict(numbers, number) == ALLOW


@BOTH
@pytest.mark.clause("BOX-1")
def test_no_mode_lends_the_owner_s_rights(numbers: Numbers) -> None:
    """Set-uid and set-gid, where the mode is; where an opening call makes nothing its mode is not looked at."""
    for number, mode in numbers.modes:
        before = (0o7777,) * mode
        for bits in (0o4755, 0o2755, 0o6000, 0o104755):
            assert _verdict(numbers, number, *before, bits) == _error(errno.EPERM)
        assert _verdict(numbers, number, *before, 0o101777, 0o7777) == ALLOW
    for number, flags in numbers.opens:
        before = (0o7777,) * flags
        for making in (0o100, 0o102 | 0o2000000, 0o20000000 | 0o200002):
            assert _verdict(numbers, number, *before, making, 0o4755) == _error(errno.EPERM)
            assert _verdict(numbers, number, *before, making, 0o2755) == _error(errno.EPERM)
            assert _verdict(numbers, number, *before, making, 0o1777, 0o7777) == ALLOW
        assert _verdict(numbers, number, *before, 0o2000000 | 0o200000, 0o7777) == ALLOW


@BOTH
@pytest.mark.clause("BOX-1")
def test_memory_that_no_process_maps_can_be_shut_out(numbers: Numbers) -> None:
    """Where nothing counts it; elsewhere it is an everyday thing."""
    for number in numbers.memory:
        assert _verdict(numbers, number, 1, 2, 3) == ALLOW
        assert _run(program(numbers, counted=False), struct.pack("<IIQ6Q", number, numbers.audit, *[0] * 7)) == _error(
            errno.ENOSYS
        )


@BOTH
def test_the_filter_is_one_the_kernel_takes(numbers: Numbers) -> None:
    """Eight bytes an instruction, at most 4096 of them, every jump within."""
    instructions = program(numbers)
    assert len(packed(instructions)) == 8 * len(instructions)
    assert len(instructions) < 4096
    for at, instruction in enumerate(instructions):
        assert at + 1 + max(instruction.if_true, instruction.if_false) <= len(instructions)


def test_machines_without_a_table_are_known_as_such() -> None:
    """The sandbox then says that it cannot be had."""
    assert numbers_of("x86_64") is X86_64
    assert numbers_of("aarch64") is AARCH64
    assert numbers_of("riscv64") is None
