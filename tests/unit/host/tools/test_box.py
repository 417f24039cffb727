"""What bubblewrap is told to show."""

import pytest

from host.config.places import SHOWN
from host.errors import ToolFailed
from host.tools import box
from host.tools.commands import refuse_unfit
from host.tools.limits import Limits

NEWEST = box.Features(disable_userns=True, bind_fd=True, size=True)
OLDEST = box.Features(disable_userns=False, bind_fd=True, size=False)


@pytest.mark.clause("BOX-1")
@pytest.mark.parametrize("features", [NEWEST, OLDEST])
def test_every_namespace_is_its_own_and_every_right_is_dropped(features: box.Features) -> None:
    """Whatever the version of bubblewrap."""
    arguments = box.system(features, Limits())
    for flag in ("user", "pid", "ipc", "uts", "net", "cgroup-try"):
        assert f"--unshare-{flag}" in arguments
    for flag in ("--die-with-parent", "--new-session", "--clearenv"):
        assert flag in arguments
    assert arguments[arguments.index("--cap-drop") + 1] == "ALL"


@pytest.mark.clause("BOX-1")
def test_of_etc_only_single_files_are_bound() -> None:
    """To the kernel the user inside may be root: /etc holds what root may read."""
    arguments = box.system(NEWEST, Limits())
    bound = {arguments[at + 1] for at, word in enumerate(arguments) if word.startswith(("--bind", "--ro-bind"))}
    assert not bound & {"/", "/etc", "/root", "/home", "/run", "/var", "/etc/ssl", "/etc/shadow"}
    # The one folder holds nothing but links.
    assert {path for path in bound if path.startswith("/etc/")} == {f"/etc/{name}" for name in box.ETC} | {
        "/etc/alternatives"
    }


@pytest.mark.clause("PATH-4")
def test_the_settings_know_what_every_sandbox_sees_of_the_machine() -> None:
    """So that nothing of the host is kept there."""
    arguments = box.system(NEWEST, Limits())
    shown = {arguments[at + 2] for at, word in enumerate(arguments) if word in {"--ro-bind", "--symlink"}}
    assert {path for path in shown if path.count("/") == 1} <= set(SHOWN)


def test_features_are_read_from_the_help_text() -> None:
    """Older versions lack some of them."""
    help_text = "--bind SRC DEST\n --bind-fd FD DEST\n --ro-bind-fd FD DEST\n --disable-userns  Disable\n --size BYTES"
    assert box.features_of(help_text) == NEWEST
    assert box.features_of("--bind-fd FD DEST\n --ro-bind-fd FD DEST") == OLDEST
    assert not box.features_of("--bind SRC DEST\n --ro-bind-fd FD DEST").bind_fd


@pytest.mark.parametrize("environment", [{"": "x"}, {"A=B": "x"}, {"A": "x\0"}])
def test_what_no_shell_can_take_is_refused(environment: dict[str, str]) -> None:
    """Instead of reaching the arguments of bubblewrap in pieces."""
    with pytest.raises(ToolFailed):
        refuse_unfit("true", environment)
    with pytest.raises(ToolFailed, match="NUL"):
        refuse_unfit("a\0b", {})
