"""What the variables of a text may hold, and which of that was looked at before all of it was known."""

from host.policy.shell.word import ALTERNATIVE


class Values(dict[str, str]):
    """Texts by name, several of one name with `ALTERNATIVE` between them."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self._seen: dict[str, str | None] = {}

    def read(self, name: str) -> str | None:
        """Return what a variable may hold so far, None where nothing sets it; that it was looked at is kept."""
        value = self.get(name)
        self._seen.setdefault(name, value)
        return value

    def holds(self, name: str) -> bool:
        """Whether something sets a variable; that it was looked at is kept."""
        return self.read(name) is not None

    def each(self, name: str) -> list[str]:
        """Return the texts that a variable may hold so far: the empty one where nothing sets it."""
        return (self.read(name) or "").split(ALTERNATIVE)

    def seen_too_early(self) -> bool:
        """Whether a variable came to hold more since it was looked at first; looks are counted anew from here."""
        early = any(self.get(name) != value for name, value in self._seen.items())
        self._seen = {}
        return early
