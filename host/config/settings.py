"""The settings of a host as frozen records, one per table of `elis.toml` (the contract's Configuration).

Only shapes and defaults live here; `host.config.load` reads and checks the file. Units are in the names; money is in
US dollars, prices in dollars per million tokens. `math.inf` means no limit.
"""

from typing import Final, Literal

import msgspec

from host.passport import Decision

DEFAULT_STOP_WORDS: Final = ("stop", "/stop", "стоп", "停止", "やめて", "para")


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model costs, in dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float | None = None  # absent: what `input` costs


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model and how to reach it."""

    provider: Literal["openai", "anthropic", "embedded"]
    base_url: str = ""  # what precedes /chat/completions or /messages; empty for `embedded`
    model: str = ""
    api_key: str | None = None  # a reference; absent: no key is sent
    context_tokens: int = 32768
    output_tokens: int = 4096  # the most one reply may hold
    capabilities: tuple[str, ...] = ("tools",)
    price: Price | None = None  # absent: 0, marked estimated, until there is a price table
    fallback: str | None = None  # not enforced yet: refused as unsupported


EMBEDDED: Final = ModelSettings(
    provider="embedded",
    model="SmolLM2-135M-Instruct",
    context_tokens=8192,  # what it was trained for
    output_tokens=512,  # it does not know when to stop
    capabilities=(),
    price=Price(),
)
"""The embedded model; what an entry of [models] leaves unsaid of it is taken from here."""


class FolderSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A further root for the file tools and the sandbox."""

    path: str
    mode: Literal["read", "write"] = "read"


class BudgetSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of one turn."""

    tokens: float = 200_000
    cost_usd: float = 1.0
    seconds: float = 900
    steps: float = 50


class DailySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of one local day over all lanes; None means no cap."""

    tokens: float | None = None
    cost_usd: float | None = None


class PolicySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a person chose: decisions by tool name and by risk class, and the two switches.

    On disk `[groups.G.policy]` mixes both kinds of keys; the loader sorts them.
    """

    choices: dict[str, Decision] = {}  # tool name or risk class → decision
    unattended: Literal["park", "deny"] = "park"
    everything: Literal["ask", "allow"] = "ask"
    deny_commands: tuple[str, ...] = ()  # patterns of parsed shell commands, stronger than any allow


class ApprovalSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How questions to people behave."""

    timeout_seconds: float = 300.0
    assisted: bool = False  # whether the aux model may let small things through before a person is asked (APR-6)


class SandboxSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where shell commands run."""

    backend: Literal["bwrap", "container", "ssh", "none"] = "bwrap"
    image: str = ""  # of the back end "container"
    host: str = ""  # of the back end "ssh": as ssh knows it, NAME or USER@NAME
    root: str = ""  # of the back end "ssh": the folder there, from /, that is the workspace
    network: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


class LaneSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many at once."""

    subagents: int = 3
    background: int = 2
    queue: int = 100  # messages that may wait in a lane before new ones are refused (LANE-3)


class GroupSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One group."""

    model: str = "main"
    aux_model: str | None = None  # absent: `model`
    timezone: str | None = None
    stop_words: tuple[str, ...] = DEFAULT_STOP_WORDS
    guard: Literal["judge", "off"] = "judge"
    folders: dict[str, FolderSettings] = {}
    budget: BudgetSettings = BudgetSettings()
    daily: DailySettings = DailySettings()
    policy: PolicySettings = PolicySettings()
    approvals: ApprovalSettings = ApprovalSettings()
    sandbox: SandboxSettings = SandboxSettings()
    lanes: LaneSettings = LaneSettings()


class SecretSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A secret that tools may be lent."""

    ref: str
    tools: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One tool server (MCP): a program in a sandbox of its own, or one that is reached by URL."""

    groups: tuple[str, ...]  # which groups get its tools
    command: tuple[str, ...] = ()  # the program and its arguments; without a shell
    url: str = ""  # instead of `command`
    folders: tuple[str, ...] = ()  # of [groups.G.folders] what its sandbox sees; "." is the workspace
    network: tuple[str, ...] = ()  # hosts that its sandbox reaches through the egress proxy
    env: dict[str, str] = {}  # variables; "secret:NAME" lends a secret
    token: str = ""  # "secret:NAME", sent to `url` as a bearer token


class HostSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The host itself."""

    name: str = "home"
    listen: str = "127.0.0.1:8700"
    default_group: str = "main"
    tls_certificate: str = ""  # PEM file; with tls_key it lets the panel listen beyond this machine
    tls_key: str = ""  # PEM file
    proxy_url: str = ""  # the https origin of a reverse proxy that stands before the panel


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything `elis.toml` says."""

    host: HostSettings = HostSettings()
    models: dict[str, ModelSettings] = {}
    groups: dict[str, GroupSettings] = {}
    secrets: dict[str, SecretSettings] = {}
    mcp: dict[str, ServerSettings] = {}  # the closed list of tool servers
