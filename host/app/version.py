"""The version of this program, as the package's metadata has it."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final


def _version() -> str:
    try:
        return version("elis")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0"


VERSION: Final = _version()
