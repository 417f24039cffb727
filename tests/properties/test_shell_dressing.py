"""Properties of the analysis of shell text: dressing a destructive command never makes it allowed (POL-5)."""

import shlex
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.passport import Effect
from host.policy.shell.analysis import analyse

COMMANDS = st.sampled_from(
    [
        ["rm", "-rf", "/"],
        ["rm", "-r", "src"],
        ["mkfs.ext4", "/dev/sda1"],
        ["touch", "x"],
        ["git", "push", "-f"],
        ["dd", "of=/dev/sda"],
    ]
)
QUOTINGS: tuple[Callable[[str], str], ...] = (
    lambda word: word,
    lambda word: f"'{word}'",
    lambda word: f'"{word}"',
    lambda word: "".join("\\" + char for char in word),
    lambda word: f"''{word}\"\"",
    lambda word: "$'" + "".join(f"\\x{ord(char):02x}" for char in word) + "'",
    lambda word: f"{word[:1]}''{word[1:]}",
)
WRAPPINGS = (
    "{}",
    "ls; {}",
    "ls && {}",
    "ls | {}",
    "( {} )",
    "{{ {}; }}",
    "echo $( {} )",
    "echo `{}`",
    "x=$( {} )",
    "if true; then {}; fi",
    "for i in 1; do {}; done",
    "f() {{ {}; }}; f",
    "! {}",
    "timeout 5 {}",
    "env {}",
    "nice -n 5 {}",
    "nohup {}",
    "command {}",
    "xargs {}",
    "exec {}",
    "sudo -n {}",
    "find . -exec {} \\;",
    "cat <( {} )",
    "ls # x\n{}",
    "cat <<E\nx\nE\n{}",
    "sh <<'E'\n{}\nE",
    "time {}",
    "{} &",
    "{} 2>&1",
)
TEXTS = (
    "sh -c {}",
    "bash -lc {}",
    "eval {}",
    "su -c {}",
    "ssh h {}",
    "echo {} | sh",
    "bash <<< {}",
    "trap {} EXIT",
    "watch {}",
    "env -S {}",
)


@st.composite
def dressed(draw: st.DrawFn) -> str:
    """Return a destructive command in random quotes and wrappers."""
    text = " ".join(draw(st.sampled_from(QUOTINGS))(word) for word in draw(COMMANDS))
    for _ in range(draw(st.integers(0, 4))):
        if "`" not in text and draw(st.booleans()):
            text = draw(st.sampled_from(WRAPPINGS)).format(text)
        else:
            text = draw(st.sampled_from(TEXTS)).format(shlex.quote(text))
    return text


@pytest.mark.clause("POL-5")
@settings(max_examples=400, deadline=None)
@given(dressed())
def test_a_destructive_command_is_never_allowed_whatever_it_wears(text: str) -> None:
    """Quoting and wrapping change the text, not what runs."""
    assert analyse(text).effect is Effect.EXECUTE


@pytest.mark.clause("POL-5")
@settings(max_examples=400, deadline=None)
@given(st.text(max_size=200) | st.text(alphabet="$(){}[]<>|&;'\"`\\ \n\tab=-*?!#~", max_size=120))
def test_no_text_makes_the_analysis_fail(text: str) -> None:
    """Whatever stands there, there is a verdict and a reason."""
    analysis = analyse(text)
    assert analysis.reason
    assert analyse(text) == analysis
