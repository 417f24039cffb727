"""The tools of a group and their passports."""

import msgspec
import pytest

from host.config.settings import GroupSettings
from host.passport import Decision, Effect, Passport, Replay
from host.tools.catalogue import tools_of

PASSPORTS = {name: tool.passport for name, tool in tools_of(GroupSettings()).items()}


@pytest.mark.clause("PASS-1", "PASS-4", "POL-2", "REC-1")
@pytest.mark.parametrize(
    ("name", "effect", "parallel", "default", "replay"),
    [
        ("ask_person", Effect.PURE, False, Decision.ALLOW, Replay.IDEMPOTENT),
        ("edit_file", Effect.WRITE, False, Decision.ALLOW, Replay.EFFECT),
        ("http", Effect.SEND, True, Decision.ASK, Replay.EFFECT),
        ("install_package", Effect.EXECUTE, False, Decision.ASK, Replay.IDEMPOTENT),
        ("list_files", Effect.READ, True, Decision.ALLOW, Replay.IDEMPOTENT),
        ("read_file", Effect.READ, True, Decision.ALLOW, Replay.IDEMPOTENT),
        ("search_files", Effect.READ, True, Decision.ALLOW, Replay.IDEMPOTENT),
        ("shell", Effect.EXECUTE, True, Decision.ASK, Replay.EFFECT),
        ("write_file", Effect.WRITE, False, Decision.ALLOW, Replay.IDEMPOTENT),
    ],
)
def test_every_tool_declares_what_it_does(
    name: str, effect: Effect, parallel: bool, default: Decision, replay: Replay
) -> None:
    """The table of tools: class, parallel, default, replay rule."""
    passport = PASSPORTS[name]
    assert (passport.effect, passport.parallel, passport.default, passport.replay) == (
        effect,
        parallel,
        default,
        replay,
    )


@pytest.mark.clause("PASS-1", "PASS-3")
def test_there_are_these_tools_and_no_others() -> None:
    """Sorted by name, so that a request's prefix stays the same."""
    assert list(PASSPORTS) == sorted(PASSPORTS)
    assert set(PASSPORTS) == {
        "ask_person",
        "edit_file",
        "http",
        "install_package",
        "list_files",
        "read_file",
        "search_files",
        "shell",
        "write_file",
    }


@pytest.mark.clause("PASS-1")
@pytest.mark.parametrize("passport", PASSPORTS.values(), ids=PASSPORTS)
def test_a_passport_fits_its_arguments(passport: Passport) -> None:
    """Paths and targets are arguments that exist, unknown fields are refused, a schema can be made."""
    fields = set(passport.arguments.__struct_fields__)
    assert passport.paths <= fields
    assert not passport.changed_by or passport.changed_by in fields
    assert passport.arguments.__struct_config__.forbid_unknown_fields
    assert passport.timeout_seconds > 0
    assert passport.failures
    schema = msgspec.json.schema(passport.arguments)
    assert schema["$defs"][passport.arguments.__name__]["additionalProperties"] is False


def test_only_ask_person_waits_for_a_person() -> None:
    """Its time is not the budget's."""
    assert [name for name, passport in PASSPORTS.items() if passport.person_waits] == ["ask_person"]


@pytest.mark.clause("PASS-4", "PASS-2", "REC-1")
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_request_that_only_reads_is_treated_as_reading(method: str) -> None:
    """GET and HEAD are of class read, run beside others, need no question and may run again; the rest sends."""
    passport = PASSPORTS["http"]
    arguments = msgspec.convert({"url": "https://example.org/", "method": method}, passport.arguments)
    held = passport.for_call(arguments)
    reads = method in {"GET", "HEAD"}
    assert held.effect is (Effect.READ if reads else Effect.SEND)
    assert held.parallel is held.reversible is reads
    assert held.default is (Decision.ALLOW if reads else Decision.ASK)
    assert held.replay is (Replay.IDEMPOTENT if reads else Replay.EFFECT)
