"""Scripts, styles and pictures of the panel, read once and served under a path that names their version.

The path changes with any byte, so browsers keep files for ever and never mix two versions; relative imports between
modules stay inside one version.
"""

import hashlib
from pathlib import Path
from typing import Final

import msgspec

from host.errors import NotFound

FOLDER: Final = Path(__file__).parent / "static"

_TYPES: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}


class Asset(msgspec.Struct, frozen=True, kw_only=True):
    """A file with its media type."""

    body: bytes
    media_type: str


class Assets:
    """All static files."""

    def __init__(self, folder: Path = FOLDER) -> None:
        """Read the files of `folder`."""
        files = sorted(path for path in folder.iterdir() if path.suffix in _TYPES)
        self._assets = {path.name: Asset(body=path.read_bytes(), media_type=_TYPES[path.suffix]) for path in files}
        digest = hashlib.blake2b(digest_size=6)
        for name, asset in self._assets.items():
            digest.update(b"%s\0%d\0%s" % (name.encode(), len(asset.body), asset.body))
        self.version = digest.hexdigest()

    def url(self, name: str) -> str:
        """Return the path of a file; raise NotFound."""
        self.get(self.version, name)
        return f"/static/{self.version}/{name}"

    def get(self, version: str, name: str) -> Asset:
        """Return a file; raise NotFound, also for another version's."""
        if version != self.version or name not in self._assets:
            message = f"the panel has no file {name!r} of version {version!r}; reload the page"
            raise NotFound(message)
        return self._assets[name]
