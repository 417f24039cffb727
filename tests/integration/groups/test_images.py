"""Images in the workspace: shown to a model that sees, read by OCR for another, or honestly refused (TURN-7)."""

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from host.config.settings import SecretSettings
from host.groups.port import EventView
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply

VALUE = "s3cr3t-Value-42x"
SEES = {"capabilities": ("tools", "vision")}


def picture(text: str = "Invoice 4711", size: tuple[int, int] = (600, 200)) -> Image.Image:
    """Return an image with words in it."""
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).text((30, 60), text, fill="black", font=ImageFont.load_default(size=48))
    return image


def save(stage: Stage, name: str, kind: str, image: Image.Image | None = None, **options: Any) -> Path:
    """Save an image in the workspace."""
    stage.workspace.mkdir(parents=True, exist_ok=True)
    (image or picture()).save(stage.workspace / name, kind, **options)
    return stage.workspace / name


async def look(stage: Stage, *names: str) -> list[dict[str, Any]]:
    """Let the model read these files in one step; return the ends of the calls in order."""
    stage.model.script(Reply(calls=[Call("read_file", {"path": name}) for name in names]), Reply(text="I see."))
    ended: EventView = await stage.ask()
    await stage.idle()
    events = await stage.group.turn_events(ended.turn)
    found = [event.data | {"turn": event.turn} for event in events if event.kind == "call_finished"]
    return sorted(found, key=lambda end: str(end["call"]))


def decoded(url: str) -> Image.Image:
    """Return the image in a data URL."""
    return Image.open(io.BytesIO(base64.b64decode(url.partition("base64,")[2])))


@pytest.mark.clause("TURN-7")
async def test_a_model_that_sees_is_shown_the_image_after_the_results_of_the_step(stage: Stage) -> None:
    """In chat completions a result holds text only: the images follow in words of the user, behind all results."""
    stage.model_changes = SEES
    save(stage, "one.png", "PNG")
    save(stage, "two.bin", "BMP")
    one, two = await look(stage, "one.png", "two.bin")
    assert (one["image"]["how"], two["image"]["how"]) == ("shown", "shown")
    assert one["result"].startswith("one.png is an image (PNG, 600 x 200, ")
    messages = json.loads(stage.model.requests[-1].body)["messages"]
    assert [message["role"] for message in messages[-5:-1]] == ["assistant", "tool", "tool", "user"]
    words, first, second = messages[-2]["content"]
    assert words["text"].endswith("one.png (600 x 200), two.bin (600 x 200)]")
    assert first["type"] == "image_url"
    shown = decoded(first["image_url"]["url"])
    assert shown.tobytes() == picture().tobytes()
    assert second["image_url"]["url"].startswith("data:image/png;base64,")


@pytest.mark.clause("CTX-5", "MASK-1", "TURN-7")
async def test_the_name_of_an_image_that_became_a_secret_is_in_no_later_request(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name like any other when the image was shown, and a lent value now."""
    monkeypatch.setenv("ELIS_TEST_KEY", VALUE)
    stage.model_changes = SEES
    save(stage, f"{VALUE}.png", "PNG")
    await look(stage, f"{VALUE}.png")
    assert VALUE.encode() in stage.model.requests[-1].body
    stage.close()
    stage.secrets = {"api": SecretSettings(ref="env:ELIS_TEST_KEY", tools=("shell",))}
    stage.model.script(Reply(text="ok"))
    assert (await stage.ask("and now?")).data["outcome"] == "success"
    request = stage.model.requests[-1].body
    assert "«secret:api».png (600 x 200)]" in request.decode()
    assert VALUE.encode() not in request


@pytest.mark.clause("TURN-7")
async def test_in_the_messages_format_the_image_stands_in_the_result(stage: Stage) -> None:
    """As a block beside its text."""
    stage.model_changes = SEES | {"provider": "anthropic"}
    save(stage, "one.jpg", "JPEG")
    await look(stage, "one.jpg")
    messages = json.loads(stage.model.requests[-1].body)["messages"]
    (result,) = [block for message in messages for block in message["content"] if block["type"] == "tool_result"]
    text, image = result["content"]
    assert text["text"].startswith("one.jpg is an image (JPEG, 600 x 200, ")
    assert (image["type"], image["source"]["media_type"]) == ("image", "image/png")
    assert decoded(f"base64,{image['source']['data']}").size == (600, 200)


@pytest.mark.clause("TURN-7", "TURN-3", "BUD-1")
async def test_a_large_image_is_scaled_stored_once_and_counted_by_its_size(stage: Stage) -> None:
    """Not by the bytes of its base64, which would use up the turn; a later process sends the same bytes."""
    stage.model_changes = SEES
    noise = Image.effect_noise((3000, 2000), 90).convert("RGB")
    file = save(stage, "photo.jpg", "JPEG", noise, quality=95, exif=b"Exif\0\0secret place")
    (end,) = await look(stage, "photo.jpg")
    image = end["image"]
    assert (image["width"], image["height"], image["media_type"]) == (1568, 1045, "image/jpeg")
    assert image["size_bytes"] <= 1 << 20 < file.stat().st_size
    assert "scaled to 1568 x 1045" in end["result"]
    request = stage.model.requests[-1].body
    assert len(request) > 400_000
    assert b"secret place" not in request
    sent = [e for e in await stage.group.turn_events(end["turn"]) if e.kind == "request_sent"]
    assert sent[1].data["reserved_tokens"] - sent[0].data["reserved_tokens"] < 8000
    assert await stage.group.request_body(sent[1].seq) == request
    stage.close()
    stage.model.script(Reply(text="again"))
    await stage.ask("and now?")
    before = request[: request.rindex(b"base64,") + 400_000]
    assert stage.model.requests[-1].body.startswith(before)


@pytest.mark.clause("TURN-7")
async def test_a_model_that_does_not_see_gets_the_words_that_ocr_reads(stage: Stage) -> None:
    """The event says so; the kind of a file is told by its content, whatever its name is."""
    save(stage, "letter.txt", "TIFF")
    (end,) = await look(stage, "letter.txt")
    assert (end["ok"], end["image"]["how"]) == (True, "read")
    assert "OCR read this in it" in end["result"]
    assert "4711" in end["result"]
    assert b"image_url" not in stage.model.requests[-1].body


@pytest.mark.clause("TURN-7")
async def test_an_image_without_words_is_honestly_refused_to_a_model_that_does_not_see(stage: Stage) -> None:
    """The refusal names both ways out, and the turn is no success."""
    save(stage, "blank.webp", "WEBP", Image.new("RGB", (64, 64), "white"))
    stage.model.script(Reply(calls=[Call("read_file", {"path": "blank.webp"})]), Reply(text="I cannot see it."))
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "unsupported")
    (end,) = [e.data for e in await stage.group.turn_events(ended.turn) if e.kind == "call_finished"]
    assert end["image"]["how"] == "refused"
    assert 'capabilities = ["tools", "vision"]' in end["result"]
    assert "sh deploy/ocr" in end["result"]


@pytest.mark.clause("TURN-7")
async def test_what_only_begins_like_an_image_fails_by_itself(stage: Stage) -> None:
    """A broken file, and one that would unfold to more than any memory: the decoder is a process of its own."""
    stage.model_changes = SEES
    whole = save(stage, "whole.png", "PNG").read_bytes()
    (stage.workspace / "broken.png").write_bytes(whole[:300])
    bomb = bytearray(whole)
    bomb[16:24] = (60_000).to_bytes(4, "big") * 2
    (stage.workspace / "bomb.png").write_bytes(bomb)
    broken, bomb_end = await look(stage, "broken.png", "bomb.png")
    for end in (broken, bomb_end):
        assert (end["ok"], end["reason"], end["image"]) == (False, "tool_failed", None)
        assert "cannot be decoded" in end["result"]


@pytest.mark.clause("TURN-7")
async def test_a_model_that_sees_no_more_is_told_so_of_images_in_its_history(stage: Stage) -> None:
    """It is sent none: its server would refuse the request."""
    stage.model_changes = SEES
    save(stage, "one.gif", "GIF")
    await look(stage, "one.gif")
    stage.close()
    stage.model_changes = {}
    stage.model.script(Reply(text="ok"))
    assert (await stage.ask("and now?")).data["outcome"] == "success"
    assert b"image_url" not in stage.model.requests[-1].body
    assert b"this model has no image input and is not shown one.gif" in stage.model.requests[-1].body
