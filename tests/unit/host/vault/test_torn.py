"""What a cut leaves of a lent value is masked like the whole."""

import pytest

from host.vault.masking import Masker

KEY = "sk-proj-9fK2mQ7xT4vW8yZ1bN6cR3dL5"
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----"


@pytest.fixture
def masker() -> Masker:
    """A masker of one line and of several."""
    made = Masker()
    made.lend("api", KEY)
    made.lend("pem", PEM)
    return made


@pytest.mark.clause("MASK-1")
@pytest.mark.parametrize("length", range(8, len(KEY)))
def test_what_a_cut_leaves_is_masked(masker: Masker, length: int) -> None:
    """Where a mark says that something was left out, and at either end of a text once it is more than words."""
    first, last = KEY[:length], KEY[-length:]
    if length > len("sk-proj-9fK"):
        assert masker.text(f"key={first}") == "key=«secret:api»"
        assert masker.text(f"{last} was refused") == "«secret:api» was refused"
        assert masker.tree({"line": f"key={first}"}) == {"line": "key=«secret:api»"}
    assert masker.text(f"it said (key={first}…). Fix: ask") == "it said (key=«secret:api»…). Fix: ask"
    assert masker.text(f"it said (…{last} was refused)") == "it said (…«secret:api» was refused)"
    assert masker.lent_tree([f"…{last}"]) == ["…«secret:api»"]


@pytest.mark.clause("MASK-1")
def test_half_of_a_value_is_masked_wherever_it_stands(masker: Masker) -> None:
    """Also between quotes, where nothing says that it was cut."""
    half = KEY[: len(KEY) // 2]
    assert masker.text(f"no such option '{half}' here") == "no such option '«secret:api»' here"
    stream = masker.stream()
    assert (
        "".join([stream.feed(f"x '{half[:9]}"), stream.feed(f"{half[9:]}' y"), stream.flush()]) == "x '«secret:api»' y"
    )


@pytest.mark.clause("MASK-1")
def test_one_line_of_a_value_is_masked(masker: Masker) -> None:
    """A page of a file, a hit of a search: with the line's number before it, and words around it."""
    line = PEM.splitlines()[2]
    assert masker.text(f"key.pem:3: {line}") == "key.pem:3: «secret:pem»"
    assert masker.text(f"a\n{PEM.splitlines()[1]}\nb") == "a\n«secret:pem»\nb"


@pytest.mark.clause("MASK-1")
def test_a_part_that_is_words_or_a_place_stays_what_it_is() -> None:
    """So that a call which names the host of a secret address, or a file with the end of its name, is that call."""
    made = Masker()
    made.lend("hook", "https://hooks.example.com/services/T0A1B2C3D/x9Kq2mZ7vW4tY8bN6cR3dL5f")
    made.lend("base", "postgres://app:pw-17@db.example.com/orders")
    for text in (
        "https://hooks.example.com/services/",
        "https://hooks.example.com",
        "example.com/orders",
        "postgres://app",
    ):
        assert made.lent_tree({"url": text, "n": [text]}) == {"url": text, "n": [text]}


@pytest.mark.clause("MASK-1")
def test_what_many_values_begin_with_is_left_alone(masker: Masker) -> None:
    """So that people can speak of the kinds of keys."""
    for text in (
        "a key like sk-proj-xyz is for projects",
        "keys begin with sk-proj",
        "-----BEGIN PRIVATE KEY----- opens it",
    ):
        assert masker.text(text) == text
