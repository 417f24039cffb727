"""Errors as problem documents."""

from http import HTTPStatus

import pytest

import host.errors
from host.errors import ElisError
from host.panel.directory import GroupStarting
from host.panel.problems import NotSignedIn, headers_of, problem_of


def kinds(root: type[ElisError]) -> list[type[ElisError]]:
    """Return a class with all that derive from it."""
    return [root, *(kind for child in root.__subclasses__() for kind in kinds(child))]


@pytest.mark.parametrize("kind", kinds(ElisError), ids=lambda kind: kind.__name__)
def test_every_error_of_the_host_has_a_status_and_its_reason(kind: type[ElisError]) -> None:
    """No error of ours is left to chance: a refusal is a 4xx or 5xx, with the error's reason and words."""
    problem = problem_of(kind("do this next"), "/api/v1/x")
    assert 400 <= problem.status < 600
    assert problem.title == HTTPStatus(problem.status).phrase
    assert (problem.reason, problem.detail, problem.instance) == (kind.reason, "do this next", "/api/v1/x")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (host.errors.NotFound(), 404),
        (host.errors.ResourceBusy(), 409),
        (GroupStarting(), 503),
        (host.errors.SettingsError(), 422),
        (host.errors.AuditFailure(), 500),
        (host.errors.ModelUnavailable(), 502),
        (host.errors.Unsupported(), 501),
        (NotSignedIn(), 401),
        (ElisError(), 500),
    ],
)
def test_statuses_say_what_a_client_can_do(error: ElisError, status: int) -> None:
    """The statuses that clients act on are fixed."""
    assert problem_of(error).status == status


def test_a_bug_tells_its_name_and_not_its_text() -> None:
    """What an unforeseen error quotes may be a secret."""
    problem = problem_of(ValueError("password=hunter2"))
    assert problem.status == 500
    assert "ValueError" in problem.detail
    assert "hunter2" not in problem.detail


def test_who_must_wait_is_told_how_long() -> None:
    """A starting group names a time to come back."""
    assert headers_of(GroupStarting()) == {"Retry-After": "1"}
    assert "WWW-Authenticate" in headers_of(NotSignedIn())
