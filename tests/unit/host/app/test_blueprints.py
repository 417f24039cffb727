"""What a group is told of its models."""

from pathlib import Path

import pytest

from host.app.blueprints import Models, blueprint_for
from host.config.home import Home
from host.config.settings import EMBEDDED, ApprovalSettings, FolderSettings, GroupSettings, ModelSettings, Settings
from host.errors import SettingsError

BIG = ModelSettings(provider="openai", base_url="https://models.example.org/v1", model="big")
MODELS = Models(found=None)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home that is not there yet."""
    return Home(root=tmp_path)


def settings(*, assisted: bool = True, aux: str | None = "small") -> Settings:
    """Return settings with one group."""
    group = GroupSettings(aux_model=aux, approvals=ApprovalSettings(assisted=assisted))
    return Settings(models={"main": BIG, "small": EMBEDDED}, groups={"main": group})


@pytest.mark.clause("APR-6")
def test_a_group_is_told_its_aux_model(home: Home) -> None:
    """With the address where an embedded one is reached."""
    given = blueprint_for("main", home, settings(), MODELS, "http://127.0.0.1:9/v1", "key")
    assert (given.model_name, given.aux_name) == ("main", "small")
    assert given.model == BIG
    assert given.aux is not None
    assert given.aux.base_url == "http://127.0.0.1:9/v1"


@pytest.mark.clause("APR-6")
def test_without_one_its_own_model_serves(home: Home) -> None:
    """The blueprint names none."""
    given = blueprint_for("main", home, settings(aux=None), MODELS, "", "")
    assert (given.aux_name, given.aux) == ("", None)


def test_an_aux_model_that_is_no_entry_is_named(home: Home) -> None:
    """With those that there are."""
    with pytest.raises(SettingsError, match=r"aux_model = 'tiny' is no entry of \[models\]; there are: main, small"):
        blueprint_for("main", home, settings(aux="tiny"), MODELS, "", "")


@pytest.mark.parametrize("assisted", [True, False])
def test_an_embedded_aux_model_is_started_only_where_it_is_asked(*, assisted: bool) -> None:
    """It costs memory."""
    assert MODELS.need_embedded(settings(assisted=assisted)) == assisted


@pytest.mark.clause("PATH-4")
def test_a_group_is_told_where_its_folders_are(home: Home, tmp_path: Path) -> None:
    """The operator's links are followed once, here: whatever opens a folder later follows none."""
    (tmp_path / "disk" / "docs").mkdir(parents=True)
    (tmp_path / "srv").symlink_to("disk")
    folder = FolderSettings(path=f"{tmp_path}/srv/docs", mode="write")
    given = blueprint_for(
        "main", home, Settings(models={"main": BIG}, groups={"main": GroupSettings(folders={"docs": folder})}), MODELS,
        "", "",
    )  # fmt: skip
    assert given.settings.folders == {"docs": FolderSettings(path=f"{tmp_path}/disk/docs", mode="write")}
