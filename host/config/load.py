"""The strict reader of `elis.toml`: settings that can be acted on, or one error that says all that is wrong with it.

Above it the composition root and the doctor; below it the records of `host.config.settings`. Which tools exist is an
argument, because tools are a higher layer.
"""

import re
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, cast

from host.config import policy, references, rules
from host.config.administrator import ADMINISTRATOR_FILE, load_administrator
from host.config.file import regular_bytes
from host.config.later import take_out
from host.config.problems import Problems, join
from host.config.settings import EMBEDDED, ModelSettings, PolicySettings, Settings
from host.config.tables import Table, read
from host.errors import SettingsError

_LARGEST_BYTES: Final = 1_000_000  # nobody writes that much; a device or a log given by mistake is not read whole
_DEEPEST: Final = 16  # tables and lists in one another; settings need six, and each recursion here is as deep
_LARGEST_WHOLE: Final = 2**63 - 1  # what TOML holds
_DEFAULT_OUTPUT_TOKENS: Final = ModelSettings(provider="openai").output_tokens


def load(
    path: Path, tool_names: Collection[str] | None = None, *, administrator: Path = ADMINISTRATOR_FILE
) -> Settings:
    """Return the settings in the file `path`.

    `tool_names` are the tools a policy may name; None accepts any name. Raises SettingsError naming each key, what is
    wrong and the remedy, also for the administrator's file (POL-3); Unsupported if the only thing wrong is that the
    file asks for what this version does not do.
    """
    try:
        data = regular_bytes(path, _LARGEST_BYTES)
    except FileNotFoundError as error:
        message = f"{path} does not exist; `elis up` writes a first one"
        raise SettingsError(message) from error
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}); mend its rights or name another home with --home DIR"
        raise SettingsError(message) from error
    if len(data) > _LARGEST_BYTES:
        message = f"{path} is larger than 1 MB, so it is hardly a settings file; put the right one in its place"
        raise SettingsError(message)
    return parse(data, path, tool_names, administrator=administrator)


def parse(
    data: bytes, path: Path, tool_names: Collection[str] | None = None, *, administrator: Path = ADMINISTRATOR_FILE
) -> Settings:
    """Return the settings in `data`, the content of `path`, whose folder is the host's home; raises as `load` does."""
    document = _document(data, path)
    problems = Problems(str(path))
    _check_shape(document, problems)
    if error := problems.error():
        raise error
    load_administrator(administrator, tool_names)
    for key in _with_userinfo(document):
        problems.add(
            key,
            "holds an address with a user name or password in it",
            "take the part before the @ out and put the secret behind a reference; treat it as known to others",
        )
    document = take_out(document, problems)
    _fit_output(document)
    _fill_embedded(document)
    policies = policy.reader(tool_names, _names(document.get("mcp")))
    settings = read(Settings, "", document, problems, {PolicySettings: policies})
    if settings is not None and not problems:
        rules.check(settings, path.parent, tool_names, problems)
    error = problems.error()
    if error is not None:
        raise error
    if settings is None:  # only a missing key gives None, and that is a problem
        raise SettingsError
    return settings


def _document(data: bytes, path: Path) -> Table:
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"{path}: line {line} is not UTF-8 text; save the file as UTF-8"
        raise SettingsError(message) from None
    except ValueError as error:  # also for a number with more digits than Python reads
        said = re.sub(r"\(?'[^']{2,}.*'[^)]*\)?", "a key", str(error))  # a key may be a secret in the wrong place
        message = f"{path} is not TOML: {said}; mend that line (text needs quotes, a table is [name])"
        raise SettingsError(message) from None
    except RecursionError:
        message = f"{path} is nested too deeply to be settings; take out the lists or tables inside one another"
        raise SettingsError(message) from None


def _check_shape(document: Table, problems: Problems) -> None:
    """Note what no reader or rule could work with: what lies too deep, and what is too large. Does not recurse."""
    waiting: list[tuple[str, object, int]] = [("", document, 0)]
    while waiting:
        key, value, depth = waiting.pop()
        if depth > _DEEPEST:
            problems.add(key, "is nested too deeply", "take out the lists or tables inside one another")
        elif isinstance(value, dict):
            waiting += [(join(key, name), inner, depth + 1) for name, inner in cast("Table", value).items()]
        elif isinstance(value, list):
            waiting += [(key, inner, depth + 1) for inner in cast("list[object]", value)]
        elif isinstance(value, int) and not -_LARGEST_WHOLE <= value <= _LARGEST_WHOLE:
            problems.add(key, "is too large a number", "write a smaller one, or inf where there should be no limit")


def _with_userinfo(value: object, key: str = "") -> Iterator[str]:
    """Yield the key of every URL with userinfo, wherever it stands."""
    if isinstance(value, str):
        if references.has_userinfo(value):
            yield key
    elif isinstance(value, dict):
        for name, inner in cast("Table", value).items():
            yield from _with_userinfo(inner, join(key, name))
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _with_userinfo(inner, key)


def _fit_output(document: Table) -> None:
    """Where only a small window is stated, let a reply be at most a quarter of it, so that the default fits."""
    for model in _tables(document.get("models")):
        window = model.get("context_tokens")
        if isinstance(window, int) and not isinstance(window, bool) and "output_tokens" not in model:
            model["output_tokens"] = min(_DEFAULT_OUTPUT_TOKENS, max(1, window // 4))


def _fill_embedded(document: Table) -> None:
    """Let an entry for the embedded model say only what it wants otherwise: there is one such model."""
    for model in _tables(document.get("models")):
        if model.get("provider") == EMBEDDED.provider:
            model.setdefault("model", EMBEDDED.model)
            model.setdefault("context_tokens", EMBEDDED.context_tokens)
            model.setdefault("output_tokens", EMBEDDED.output_tokens)
            model.setdefault("capabilities", list(EMBEDDED.capabilities))
            model.setdefault("price", {})


def _names(value: object) -> frozenset[str]:
    return frozenset(cast("Table", value)) if isinstance(value, dict) else frozenset()


def _tables(value: object) -> Iterator[Table]:
    if isinstance(value, dict):
        yield from (inner for inner in cast("Table", value).values() if isinstance(inner, dict))
