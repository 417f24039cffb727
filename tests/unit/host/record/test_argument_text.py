"""Arguments of calls without secret values: still JSON, still the same call (MASK-1)."""

import msgspec
import pytest

from host.record.argument_text import masked_arguments
from host.vault.masking import Masker


def lending(**values: str) -> Masker:
    """A masker that knows these values."""
    masker = Masker()
    for name, value in values.items():
        masker.lend(name, value)
    return masker


@pytest.mark.clause("MASK-1")
@pytest.mark.parametrize(
    ("value", "text", "masked"),
    [
        ("path:config-prod.txt", '{"path":"config-prod.txt"}', {"path": "config-prod.txt"}),
        ("4711", '{"start_line":4711,"path":"a"}', {"start_line": "«secret:x»", "path": "a"}),
        ("4711", '{"start_line":47110}', {"start_line": 47110}),
        ("12345678", '{"deep":[{"n":[1, 12345678, 2.5]}]}', {"deep": [{"n": [1, "«secret:x»", 2.5]}]}),
        ('p"w\\d', '{"a":"p\\"w\\\\d"}', {"a": "«secret:x»"}),
        ("hunter2-horse", '{"c":"echo hunter2-horse"}', {"c": "echo «secret:x»"}),
        ("hunter2-horse", '{"c":"\\u0068unter2-horse"}', {"c": "«secret:x»"}),
        ("hunter2-horse", '{"a hunter2-horse":1}', {"a «secret:x»": 1}),
        ("true", '{"a":true,"b":null}', {"a": True, "b": None}),
    ],
)
def test_what_is_masked_is_json_still(value: str, text: str, masked: object) -> None:
    """Strings and numbers are looked at one by one, names as in every tree; nothing runs over a name and its value."""
    given = masked_arguments(text, lending(x=value).lent_tree)
    assert msgspec.json.decode(given) == masked
    assert masked_arguments(given, lending(x=value).lent_tree) == given


@pytest.mark.clause("MASK-1")
@pytest.mark.parametrize("text", ['{ "b": 1, "a": "x" }', "", "[1", '{"a":1e400}', '{"a":' + "[" * 3000, '"\\ud800"'])
def test_what_holds_no_value_stays_as_it_was_written(text: str) -> None:
    """To the byte, be it JSON or not."""
    assert masked_arguments(text, lending(x="hunter2-horse").lent_tree) == text
    assert masked_arguments(text, lending().lent_tree) == text


@pytest.mark.clause("MASK-1")
def test_what_is_no_json_is_masked_as_text() -> None:
    """No tool will take it, and its value is told to nobody all the same."""
    mask = lending(x="hunter2-horse").lent_tree
    assert masked_arguments('{"a": hunter2-horse', mask) == '{"a": «secret:x»'
    deep = '{"a":' + "[" * 3000 + '"hunter2-horse"'
    assert "hunter2" not in masked_arguments(deep, mask)


@pytest.mark.clause("MASK-1")
def test_equal_calls_are_equal_when_they_are_masked() -> None:
    """Whatever the order and the white space in which a model wrote them."""
    mask = lending(x="hunter2-horse").lent_tree
    one = masked_arguments('{"a": "hunter2-horse", "b": 1}', mask)
    assert one == masked_arguments('{"b":1,"a":"hunter2-horse"}', mask)
