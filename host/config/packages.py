"""Names of Python packages as people and models write them, and the list of those a group may install (PATH-3).

A name has one spelling (PEP 503), so that `Foo.Bar` and `foo-bar` are one package; what is written beside it is extras
and versions (PEP 508). Addresses, paths, options and markers name no package and are refused. Pure; the one place that
knows `packaging`.
"""

import difflib
from collections.abc import Iterable
from typing import Final

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

_LONGEST: Final = 200  # characters; the longest of a real package has some dozens
_ALIKE: Final = 0.8  # `reqeusts` and `requests` have 0.875; names of one family (`pytest-cov`, `pytest`) mostly less
_EXAMPLE: Final = "write one name, such as requests, requests>=2.31 or uvicorn[standard]"


class NotAPackage(ValueError):
    """The text names no package of an index."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A package, taken apart."""

    name: str  # in its one spelling
    extras: tuple[str, ...] = ()
    versions: str = ""  # as PEP 440 writes them, such as "<3,>=2.31"; empty: any

    @property
    def text(self) -> str:
        """The requirement as an installer takes it, made of nothing but what was understood."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return f"{self.name}{extras}{self.versions}"

    def within(self, versions: str) -> "Wanted":
        """Return this with `versions` demanded besides."""
        both = ",".join(filter(None, (self.versions, versions)))
        return msgspec.structs.replace(self, versions=both)


def wanted(text: str) -> Wanted:
    """Read what was written; raise NotAPackage, which completes the sentence that begins with the text."""
    if len(text) > _LONGEST or not text.isascii():
        message = f"is no package name; {_EXAMPLE}"
        raise NotAPackage(message)
    try:
        read = Requirement(text.strip())
    except InvalidRequirement as error:
        message = f"names no package of an index: paths, addresses and options are not taken; {_EXAMPLE}"
        raise NotAPackage(message) from error
    if read.url is not None or read.marker is not None or any(part.operator == "===" for part in read.specifier):
        message = f"holds more than a name, extras and versions; {_EXAMPLE}"
        raise NotAPackage(message)
    extras = tuple(sorted(canonicalize_name(extra) for extra in read.extras))
    return Wanted(name=canonicalize_name(read.name), extras=extras, versions=str(read.specifier))


class PackageList:
    """What a group may install without being asked about the name."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        """Read the entries; raise NotAPackage. One name twice must fit both."""
        self._versions: dict[str, str] = {}
        for entry in map(wanted, entries):
            self._versions[entry.name] = entry.within(self._versions.get(entry.name, "")).versions

    def __contains__(self, name: object) -> bool:
        """Say whether a name, in its one spelling, is listed."""
        return name in self._versions

    def versions(self, name: str) -> str:
        """Return the versions that the list admits of a package; empty for any, and for one that is not listed."""
        return self._versions.get(name, "")

    @property
    def bounds(self) -> tuple[str, ...]:
        """The entries that narrow versions, as an installer takes constraints."""
        return tuple(f"{name}{versions}" for name, versions in self._versions.items() if versions)

    def admits(self, name: str, version: str) -> bool:
        """Say whether the list has nothing against a version of a package, be it listed or not."""
        try:
            return SpecifierSet(self.versions(name)).contains(version, prereleases=True)
        except InvalidVersion:
            return False

    def alike(self, name: str) -> str:
        """Return the listed name that an unlisted one could be mistaken for, empty where there is none."""
        return next(iter(difflib.get_close_matches(name, self._versions, n=1, cutoff=_ALIKE)), "")
