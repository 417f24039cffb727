"""Names of packages: what is one, its one spelling, and lists of them."""

import pytest

from host.config.packages import NotAPackage, PackageList, wanted


@pytest.mark.clause("PATH-3")
@pytest.mark.parametrize(
    ("text", "understood"),
    [
        ("requests", "requests"),
        ("Foo.Bar_x[B, a] >=2, <3", "foo-bar-x[a,b]<3,>=2"),
        (" pandas==2.* ", "pandas==2.*"),
    ],
)
def test_a_name_has_one_spelling(text: str, understood: str) -> None:
    """By PEP 503; an installer gets what was understood, never what was written."""
    assert wanted(text).text == understood


@pytest.mark.clause("PATH-3")
@pytest.mark.parametrize(
    "text",
    ["", "..", "./a", "/a", "-r x", "--index-url=x", "a --pre", "a\nb", "a\n-r b", "git+https://x.org/y", "ｒequests",
     "a @ https://x.org/a.whl", "a @ file:///a", "a; python_version > '3'", "a===x", "a # b", "a" * 201],
)  # fmt: skip
def test_what_is_more_or_less_than_a_name_is_none(text: str) -> None:
    """Paths, addresses, options, markers, arbitrary versions."""
    with pytest.raises(NotAPackage):
        wanted(text)


@pytest.mark.clause("PATH-3", "BOX-6")
def test_a_list_knows_names_in_any_spelling_narrows_versions_and_points_out_what_is_alike() -> None:
    """A family name (`pytest-cov` beside `pytest`) is no look-alike."""
    listed = PackageList(["Py_Test>=7", "py-test<9", "requests"])
    assert "py-test" in listed
    assert "pytest" not in listed
    assert listed.versions("py-test") == "<9,>=7"
    assert listed.alike("reqeusts") == "requests"
    assert PackageList(["pytest"]).alike("pytest-cov") == ""


def test_the_bounds_of_a_list_are_those_of_its_entries_and_bind_nothing_else() -> None:
    """As constraints for an installer; a version that is none is admitted nowhere."""
    packages = PackageList(("Fruit[x]", "seed<2", "Seed>=1"))
    assert packages.bounds == (f"seed{packages.versions('seed')}",)
    assert [packages.admits("seed", version) for version in ("1.0", "2.0", "1.5rc1", "odd")] == [
        True,
        False,
        True,
        False,
    ]
    assert packages.admits("fruit", "9")
    assert packages.admits("unlisted", "9")
