"""What is said of an image where nothing is there to read it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import PIL
import pytest

from host.tools import looking_at
from host.tools.images import Report
from host.tools.tool import Scope


@pytest.mark.clause("TURN-7")
def test_the_child_says_that_there_is_no_ocr(tmp_path: Path) -> None:
    """It is an extra; all that a start installs is Pillow."""
    packages = Path(PIL.__file__).parents[1]
    for folder in (packages / "PIL", *packages.glob("pillow.libs")):
        (tmp_path / folder.name).symlink_to(folder)
    root = Path(looking_at.__file__).parents[2]
    given, made = (os.memfd_create(name) for name in ("given", "made"))
    ended = subprocess.run(
        [sys.executable, "-P", "-s", "-S", "-B", "-m", "host.tools.image_child", "read"]
        + [str(number) for number in (given, made, 100, 100, 10)],
        env={"PYTHONPATH": f"{root}:{tmp_path}"},
        pass_fds=(given, made),
        capture_output=True,
        check=True,
        timeout=30,
    )
    os.close(given)
    os.close(made)
    assert json.loads(ended.stdout) == {"absent": True}


@pytest.mark.clause("TURN-7")
async def test_without_ocr_an_image_is_refused_with_both_ways_out(scope: Scope) -> None:
    """As unsupported, not as a failure of the file."""

    async def nothing_reads(_: bytes) -> Report:
        return Report(absent=True)

    result = await looking_at.look_at("a.png", "PNG", b"", scope, reading=nothing_reads)
    assert (result.ok, result.reason) == (False, "unsupported")
    assert "there is no OCR here" in result.text
    assert "sh deploy/ocr" in result.text
    assert result.image is not None
    assert result.image.how == "refused"
