"""The tree of errors."""

import pytest

from memory import errors

ALL = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.JournalError)]


@pytest.mark.parametrize("kind", ALL)
def test_an_error_says_something_by_itself_and_stands_in_the_drawing(kind: type[errors.JournalError]) -> None:
    """The docstring is the default message; the module's drawing shows every error."""
    assert str(kind()) == (kind.__doc__ or "").strip()
    assert str(kind("say this")) == "say this"
    assert f"{kind.__name__} " in (errors.__doc__ or "") or f"{kind.__name__}\n" in (errors.__doc__ or "")
