"""What standing answers cover, and which one is proposed."""

import pytest

from host.passport import Effect
from host.policy.grants import Scope, covering, keys, kind_key, offered, proposed
from host.record.events import Part

KIND = kind_key("shell", Effect.EXECUTE)
PUSH = Part(exact="command:git push origin main", under=("command:git push",))
TESTS = Part(exact="command:pytest -q", under=("command:pytest",))
BARE = Part(exact="command:make")
FILE = Part(exact="path:docs/a/b.txt", under=("path:docs/a/", "path:docs/", "path:"))


@pytest.mark.clause("APR-1")
def test_a_pipeline_is_covered_only_if_each_of_its_commands_is() -> None:
    """Several grants may do it together."""
    assert covering((PUSH, TESTS), KIND, {PUSH.exact: "g1"}) == ()
    assert covering((PUSH, TESTS), KIND, {PUSH.exact: "g1", "command:pytest": "g2"}) == ("g1", "g2")
    assert covering((), KIND, {PUSH.exact: "g1"}) == ()


@pytest.mark.clause("APR-1")
def test_a_grant_of_a_kind_covers_whatever_the_tool_does_in_that_class() -> None:
    """And nothing of another class."""
    assert covering((PUSH,), KIND, {KIND: "g"}) == ("g",)
    assert covering((PUSH,), kind_key("shell", Effect.SEND), {KIND: "g"}) == ()


@pytest.mark.clause("APR-1")
def test_the_scopes_on_offer_are_those_that_hold_something() -> None:
    """A command without a sub-command has no "under"; what always asks is for once alone."""
    assert offered((PUSH, TESTS), KIND, once_only=False) == (Scope.ONCE, Scope.TARGET, Scope.UNDER, Scope.KIND)
    assert offered((PUSH, BARE), KIND, once_only=False) == (Scope.ONCE, Scope.TARGET, Scope.KIND)
    assert offered((), KIND, once_only=False) == (Scope.ONCE, Scope.KIND)
    assert offered((PUSH,), KIND, once_only=True) == (Scope.ONCE,)
    assert keys(Scope.UNDER, (PUSH, PUSH, TESTS), KIND) == ("command:git push", "command:pytest")


@pytest.mark.clause("APR-1")
@pytest.mark.parametrize(
    ("before", "scope"),
    [
        ([PUSH, PUSH], Scope.ONCE),
        ([PUSH, PUSH, PUSH], Scope.TARGET),
        ([PUSH, PUSH, PUSH, TESTS], Scope.TARGET),
        ([PUSH, Part(exact="command:git push x", under=("command:git push",)), PUSH], Scope.UNDER),
        ([PUSH, TESTS, PUSH], Scope.KIND),
    ],
)
def test_the_narrowest_scope_that_would_have_spared_the_last_three_is_proposed(
    before: list[Part], scope: Scope
) -> None:
    """Never a wider one."""
    scopes = offered((PUSH,), KIND, once_only=False)
    assert proposed((PUSH,), KIND, scopes, [(KIND, (part,)) for part in before]) is scope


@pytest.mark.clause("APR-1")
def test_a_folder_covers_what_lies_below_it_alone() -> None:
    """Sibling names are no neighbours of each other."""
    assert covering((FILE,), KIND, {"path:docs/": "g"}) == ("g",)
    assert covering((FILE,), KIND, {"path:doc": "g", "path:docs/a": "g"}) == ()
    assert keys(Scope.UNDER, (FILE,), KIND) == ("path:docs/a/",)
