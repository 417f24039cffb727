"""A package index of a small world: pages, wheels and source distributions that a test puts there."""

import dataclasses
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping

from tests.integration.browser.world import Site, answer

INDEX = "https://index.example.org/simple/"
FILES = "https://files.example.net"


def wheel(
    name: str,
    version: str,
    text: str,
    needs: tuple[str, ...] = (),
    script: str = "",
    also: Mapping[str, str] | None = None,
) -> bytes:
    """Return a wheel with one module `name`, which holds `text`, and a program `script` that runs it.

    `also` are further files, wherever their paths lead.
    """
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {need}\n" for need in needs)
    files = {
        f"{name}.py": text,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/top_level.txt": f"{name}\n",
        **(also or {}),
    }
    if script:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{script} = {name}:main\n"
    record = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, content in (files | {f"{info}/RECORD": record}).items():
            archive.writestr(path, content)
    return data.getvalue()


def source(name: str, version: str, setup: str) -> bytes:
    """Return a source distribution whose setup.py is `setup`."""
    return _packed(name, version, {"setup.py": setup})


_BACKEND = """
import pathlib

def build_wheel(folder, settings=None, metadata=None):
    pathlib.Path("/workspace/ran").touch()
    raise SystemExit("I ran")

def get_requires_for_build_wheel(settings=None):
    pathlib.Path("/workspace/ran").touch()
    raise SystemExit("I ran")
"""


def built_by_itself(name: str, version: str) -> bytes:
    """Return a source distribution that brings what builds it, a program that says that it ran."""
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    return _packed(name, version, {"pyproject.toml": project, "backend.py": _BACKEND})


def _packed(name: str, version: str, files: Mapping[str, str]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for path, text in {**files, "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"}.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


@dataclasses.dataclass
class PackageIndex:
    """An index whose files lie on another host."""

    site: Site
    files: dict[str, dict[str, bytes]] = dataclasses.field(default_factory=dict)

    def put(self, project: str, file: str, data: bytes) -> str:
        """Put a file of a project there, and return its SHA-256."""
        self.files.setdefault(project, {})[file] = data
        self.site.answers[f"/{file}"] = answer(data, content_type="application/octet-stream")
        listed = [
            {"filename": name, "url": f"{FILES}/{name}", "hashes": {"sha256": hashlib.sha256(content).hexdigest()}}
            for name, content in self.files[project].items()
        ]
        page = {"meta": {"api-version": "1.0"}, "name": project, "files": listed}
        kind = "application/vnd.pypi.simple.v1+json"
        self.site.answers[f"/simple/{project}/"] = answer(json.dumps(page).encode(), content_type=kind)
        return hashlib.sha256(data).hexdigest()

    def release(self, name: str, version: str, text: str, needs: tuple[str, ...] = (), script: str = "") -> str:
        """Put a wheel there, and return its SHA-256."""
        return self.put(name, f"{name}-{version}-py3-none-any.whl", wheel(name, version, text, needs, script))
