"""Keeping a program's output within bounds."""

import pytest

from host.tools.output import Output


def test_little_output_is_kept_whole() -> None:
    """However it was cut into pieces."""
    output = Output(kept_bytes=100)
    for piece in (b"gr\xc3", b"\xbc\xc3\x9f", b"e\n"):
        output.feed(piece)
    assert output.text() == "grüße\n"
    assert output.left_out == 0


@pytest.mark.clause("CTX-3")
@pytest.mark.parametrize("piece", [1, 7, 10, 100, 999])
def test_of_much_output_head_and_tail_are_kept_and_the_rest_is_counted(piece: int) -> None:
    """Nothing is cut silently."""
    output = Output(kept_bytes=20)
    data = b"".join(b"%03d " % number for number in range(250))
    for start in range(0, len(data), piece):
        output.feed(data[start : start + piece])
    assert output.left_out == 1000 - 20
    assert output.text() == "000 001 00\n[… 980 bytes of output are left out here …]\n7 248 249 "


def test_a_listener_hears_characters_whole() -> None:
    """Though their bytes came apart; what is no UTF-8 is heard as a replacement."""
    heard: list[str] = []
    output = Output(heard.append)
    for piece in (b"\xe2", b"\x82", b"\xac", b"\xff!"):
        output.feed(piece)
    assert heard == ["€", "\ufffd!"]
    assert output.text() == "€\ufffd!"
