"""A text that is kept in a file: what comes after its end opens nothing (CTX-3)."""

import pytest

from host.tools.outputs import Keeping, Plain


class Files:
    """Counts the files that were begun and those that are open."""

    def __init__(self) -> None:
        self.begun = 0
        self.open = 0

    def output_file(self, folder: str, name: str) -> "File":
        """Begin one."""
        assert (folder, name) == ("outputs", "a.txt")
        self.begun += 1
        self.open += 1
        return File(self)


class File:
    """A file that is begun."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def write(self, data: bytes) -> None:
        """Take it."""

    async def put_in_place(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Count it."""
        self._files.open -= 1


@pytest.mark.clause("CTX-3")
@pytest.mark.parametrize("way", ["stopped", "finished"])
async def test_output_that_comes_after_the_end_opens_no_file(way: str) -> None:
    """Pieces that were on their way when a call was stopped find nobody."""
    files = Files()
    keeping = Keeping(files, name="a.txt", limit_bytes=10, stream=Plain())
    with keeping:
        keeping.feed("x" * 100)
        if way == "finished":
            assert await keeping.finish() is not None
    keeping.feed("x" * 100)
    assert (files.begun, files.open) == (1, 0)
