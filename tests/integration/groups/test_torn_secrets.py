"""Half a secret is a secret: what is shortened, paged or quoted shows no part of one to anybody (MASK-1, JRN-4)."""

import json

import pytest

from host.config.settings import SecretSettings
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Fail, Reply

TOKEN = "sk-proj-9fK2mQ7xT4vW8yZ1bN6cR3dL5"
LINES = (
    "-----BEGIN PRIVATE KEY-----",
    "MIIEvQIBADANBgkqhkiG9w0B",
    "AQEFAASCBKcwggSjAgEAAoIB",
    "-----END PRIVATE KEY-----",
)


@pytest.fixture
def lent(stage: Stage) -> Stage:
    """A group with a token and a key of several lines that can be lent, both also in files of its workspace."""
    for name, value in (("token", TOKEN), ("pem", "\n".join(LINES))):
        kept = stage.root / f"{name}.secret"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(value)
        kept.chmod(0o600)
        stage.secrets[name] = SecretSettings(ref=f"file:{kept}", tools=("http",))
    stage.workspace.mkdir(parents=True)
    (stage.workspace / "long.txt").write_text((TOKEN + "x" * 7) * 3000)
    (stage.workspace / "key.txt").write_text("\n".join(("above", *LINES, "below")))
    (stage.workspace / "hit.txt").write_text("needle " + "z" * 275 + TOKEN + "z" * 400)
    return stage


def shows_nothing(text: str) -> None:
    """Assert that eight characters of a secret stand nowhere next to each other."""
    parts = [TOKEN[at : at + 9] for at in range(len(TOKEN) - 8)]
    assert [part for part in (*parts, *LINES[1:3]) if part in text] == []


@pytest.mark.clause("MASK-1", "JRN-4")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "long.txt"}),
        ("read_file", {"path": "long.txt", "start_column": 20_025}),
        ("read_file", {"path": "key.txt", "start_line": 3, "lines": 1}),
        ("read_file", {"path": "key.txt", "start_line": 4}),
        ("search_files", {"text": "needle"}),
        ("search_files", {"text": "Bkqhk|AgEAA", "regex": True}),
        ("shell", {"command": "cut -c282-295 hit.txt; cut -c 298-330 hit.txt; sed -n 3p key.txt"}),
        ("shell", {"command": "head -c 294 hit.txt"}),
    ],
)
async def test_what_a_tool_shows_of_a_part_shows_no_part_of_a_secret(
    lent: Stage, tool: str, arguments: dict[str, object]
) -> None:
    """Pages, columns, hits, pieces: neither to the model nor in the journal."""
    lent.model.script(Reply(calls=[Call(tool, arguments)]), Reply(text="done"))
    assert (await lent.ask()).data["outcome"] == "success"
    shows_nothing(lent.model.requests[-1].body.decode())
    events = await lent.group.events(0, 1000)
    told = json.dumps([event.data for event in events], ensure_ascii=False)
    shows_nothing(told)
    assert "«secret:" in told


@pytest.mark.clause("MASK-1", "JRN-4")
@pytest.mark.parametrize("before", [478, 485, 490])
async def test_what_a_provider_quotes_of_a_secret_is_masked_also_where_it_is_cut(lent: Stage, before: int) -> None:
    """Its error is shortened before anybody could know what stands in it."""
    lent.model.script(Fail(status=400, body=json.dumps({"error": {"message": "w" * before + TOKEN + " is wrong"}})))
    ended = await lent.ask()
    assert "www" in ended.data["detail"]
    shows_nothing(json.dumps([event.data for event in await lent.group.events(0, 1000)]))
