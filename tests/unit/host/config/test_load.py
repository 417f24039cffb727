"""What `elis.toml` may say, and what each error tells the person who wrote it."""

import math
from pathlib import Path

import pytest

from host.config import load as module
from host.config.settings import EMBEDDED, Settings
from host.config.write import FIRST
from host.errors import SettingsError, Unsupported
from host.passport import Decision

HOME = Path("/home/somebody/.elis")
NOWHERE = Path("/nonexistent/policy.toml")
TOOLS = ("ask_person", "http", "read_file", "shell", "write_file")
MODEL = '[models.main]\nprovider = "openai"\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\n'
GROUP = "[groups.main]\n"
SSH = GROUP + "[groups.main.sandbox]\nbackend = 'ssh'\n"
SSH_WHOLE = SSH + "host = 'elis@build'\nroot = '/srv/work'\n"


def settings(text: str) -> Settings:
    """Read `text` as the settings of HOME."""
    return module.parse(text.encode(), HOME / "elis.toml", TOOLS, administrator=NOWHERE)


def refusal(text: str, kind: type[Exception] = SettingsError) -> str:
    """Return the message with which `text` is refused."""
    with pytest.raises(kind) as caught:
        settings(text)
    return str(caught.value)


WRONG = [
    # text, key, what is wrong, remedy
    (GROUP + "[groups.main.policy]\ndeny_commands = 'rm'\n", "policy.deny_commands", "a list of texts", "git push"),
    (GROUP + "[groups.main.policy]\ndeny_commands = ['*']\n", "policy.deny_commands", "names no command", "git push"),
    (GROUP + "[groups.main.policy]\ndeny_commands = [1]\n", "policy.deny_commands", "names no command", "git push"),
    ("[hsot]\n" + GROUP, "hsot", "unknown key", "did you mean `host`"),
    ('[host]\nnmae = "x"\n' + GROUP, "host.nmae", "unknown key", "did you mean `name`"),
    (GROUP + "[groups.main.budget]\ntokns = 1\n", "groups.main.budget.tokns", "unknown key", "did you mean `tokens`"),
    (GROUP + "[groups.main.daily]\nstep = 1\n", "groups.main.daily.step", "unknown key", "may hold tokens, cost_usd"),
    (GROUP + "zzzzqqq = 1\n", "groups.main.zzzzqqq", "unknown key", "take it out"),
    (GROUP + '[groups.main.policy]\nexcute = "ask"\n', "groups.main.policy.excute", "unknown", "mean `execute`"),
    (GROUP + '[groups.main.policy]\nshel = "ask"\n', "groups.main.policy.shel", "unknown", "mean `shell`"),
    (GROUP + '[groups.main.policy]\nread = "maybe"\n', "groups.main.policy.read", '"allow", "ask", "deny"', "write"),
    (GROUP + "[groups.main.policy]\nread = true\n", "groups.main.policy.read", "not true or false", "write"),
    (
        GROUP + '[groups.main.policy]\nunattended = "allow"\n',
        "groups.main.policy.unattended",
        '"park", "deny"',
        "write",
    ),
    ("[host]\nlisten = 8700\n" + GROUP, "host.listen", "text in quotes, not a whole number", '"127.0.0.1:8700"'),
    (GROUP + '[groups.main.budget]\nsteps = "50"\n', "groups.main.budget.steps", "a number, not text", "steps = 50"),
    (GROUP + "[groups.main.budget]\nsteps = true\n", "groups.main.budget.steps", "a number, not true", "steps = 50"),
    (GROUP + 'stop_words = "stop"\n', "groups.main.stop_words", "a list of texts", "stop_words = ["),
    (GROUP + "budget = 5\n", "groups.main.budget", "a table, not a whole number", "[groups.main.budget]"),
    ('groups = "main"\n', "groups", "a table, not text", "[groups]"),
    (GROUP + 'guard = "loud"\n', "groups.main.guard", 'one of "judge", "off"', 'guard = "judge"'),
    ('[models.main]\nmodel = "m"\n' + GROUP, "models.main.provider", "is missing", 'provider = "openai"'),
    ('[models.main]\nprovider = "openai"\n' + GROUP, "models.main.model", "is missing", "write the name"),
    (MODEL + "context_tokens = 1.5\n" + GROUP, "models.main.context_tokens", "a whole number", "32768"),
    (MODEL + "context_tokens = 5\n" + GROUP, "models.main.context_tokens", "too small", "at least"),
    (MODEL + "output_tokens = 99999\n" + GROUP, "models.main.output_tokens", "does not fit", "less than"),
    (MODEL + 'capabilities = ["tool"]\n' + GROUP, "models.main.capabilities", "unknown capability", "mean `tools`"),
    (MODEL + "price = { input = -1.0 }\n" + GROUP, "models.main.price.input", "no price", "0 or more"),
    (MODEL + "price = { inptu = 1.0 }\n" + GROUP, "models.main.price.inptu", "unknown key", "mean `input`"),
    (MODEL.replace("http://", "ftp://") + GROUP, "models.main.base_url", "not an http", "base_url = "),
    (MODEL.replace("/v1", "/v1?key=1") + GROUP, "models.main.base_url", "? or #", "base_url"),
    ('[models.main]\nprovider = "embedded"\nbase_url = "http://x/v1"\n' + GROUP, "models.main.base_url", "no", "out"),
    (
        '[models.main]\nprovider = "embedded"\ncontext_tokens = 9000\n' + GROUP,
        "models.main.context_tokens",
        "than the embedded model takes",
        "at most 8192",
    ),
    ('[host]\nlisten = "nonsense"\n' + GROUP, "host.listen", "not an address", "127.0.0.1:8700"),
    ('[host]\nlisten = "127.0.0.1:99999"\n' + GROUP, "host.listen", "not an address", "port 0"),
    ('[host]\nlisten = "0.0.0.0:8700"\n' + GROUP, "host.listen", "beyond this machine", "127.0.0.1"),
    ('[host]\nlisten = "example.org:8700"\n' + GROUP, "host.listen", "beyond this machine", "127.0.0.1"),
    (
        '[host]\nlisten = "0.0.0.0:8700"\ntls_certificate = "/c.pem"\ntls_key = "/k.pem"\n' + GROUP,
        "host.listen",
        "does not say under which name",
        "elis.example.org:8700",
    ),
    ('[host]\ntls_key = "/k.pem"\n' + GROUP, "host.tls_certificate", "is missing", "both"),
    ('[host]\nproxy_url = "http://x"\n' + GROUP, "host.proxy_url", "not the https origin", "https://"),
    ('[host]\nname = "My Home"\n' + GROUP, "host.name", "not a usable name", "a-z, 0-9 and -"),
    ("[groups.Main_1]\n" + GROUP, "groups.Main_1", "not a usable name", "a-z, 0-9 and -"),
    ('[host]\ndefault_group = "man"\n' + GROUP, "host.default_group", "names no group", "groups here are main"),
    ("", "host.default_group", "names no group", "add [groups.NAME]"),
    (MODEL + GROUP + 'model = "mian"\n', "groups.main.model", "names no model", "models here are main"),
    (MODEL + GROUP + 'aux_model = "x"\n', "groups.main.aux_model", "names no model", "models here are main"),
    (MODEL.replace(".main", ".small") + GROUP, "groups.main.model", "names no model", "here are small"),
    (GROUP + 'timezone = "Europe/Berln"\n', "groups.main.timezone", "no time zone", "mean `Europe/Berlin`"),
    (GROUP + 'timezone = "../etc/passwd"\n', "groups.main.timezone", "no time zone", "Europe/Berlin"),
    (GROUP + "[groups.main.budget]\ntokens = 0\n", "groups.main.budget.tokens", "more than 0", "inf"),
    (GROUP + "[groups.main.budget]\nseconds = -1\n", "groups.main.budget.seconds", "more than 0", "inf"),
    (GROUP + "[groups.main.budget]\ncost_usd = nan\n", "groups.main.budget.cost_usd", "more than 0", "inf"),
    (GROUP + "[groups.main.budget]\nsteps = 1.5\n", "groups.main.budget.steps", "whole number", "inf"),
    (GROUP + "[groups.main.daily]\ncost_usd = 0\n", "groups.main.daily.cost_usd", "more than 0", "inf"),
    (GROUP + "[groups.main.approvals]\ntimeout_seconds = 0\n", "approvals.timeout_seconds", "no time", "a year"),
    (GROUP + "[groups.main.approvals]\ntimeout_seconds = inf\n", "approvals.timeout_seconds", "no time", "a year"),
    (GROUP + "[groups.main.sandbox]\nnetwork = ['*']\n", "sandbox.network", "no public host name", "example.org"),
    (GROUP + "[groups.main.sandbox]\nnetwork = ['']\n", "sandbox.network", "no public host name", "example.org"),
    (
        GROUP + "[groups.main.sandbox]\nnetwork = ['https://example.org']\n",
        "sandbox.network",
        "no public host name",
        "example.org",
    ),
    (
        GROUP + "[groups.main.sandbox]\nnetwork = ['example.org/path']\n",
        "sandbox.network",
        "no public host name",
        "example.org",
    ),
    (
        GROUP + "[groups.main.sandbox]\nnetwork = ['127.0.0.1']\n",
        "sandbox.network",
        "no public host name",
        "example.org",
    ),
    (
        GROUP + "[groups.main.sandbox]\nnetwork = ['localhost']\n",
        "sandbox.network",
        "no public host name",
        "example.org",
    ),
    (GROUP + "[groups.main.sandbox]\nnetwork = ['com']\n", "sandbox.network", "no public host name", "example.org"),
    (
        GROUP + "[groups.main.sandbox]\nnetwork = ['example.org:0']\n",
        "sandbox.network",
        "no public host name",
        "example.org",
    ),
    (GROUP + "[groups.main.sandbox]\nnetwork = ['a b']\n", "sandbox.network", "no public host name", "example.org"),
    (SSH + "root = '/srv'\n", "sandbox.host", "no machine", "as ssh knows it"),
    (SSH + "host = '-oProxyCommand=x'\nroot = '/srv'\n", "sandbox.host", "no machine", "as ssh knows it"),
    (SSH + "host = 'a b'\nroot = '/srv'\n", "sandbox.host", "no machine", "as ssh knows it"),
    (SSH + "host = 'a$(x)'\nroot = '/srv'\n", "sandbox.host", "no machine", "as ssh knows it"),
    (SSH + "host = 'a'\n", "sandbox.root", "no full path", "from /"),
    (SSH + "host = 'a'\nroot = '~/work'\n", "sandbox.root", "no full path", "from /"),
    (SSH_WHOLE + "network = ['example.org']\n", "sandbox.network", "machine's own", "take it out"),
    (SSH_WHOLE + "packages = ['requests']\n", "sandbox.packages", "not installed on other", "take it out"),
    (SSH_WHOLE + "[groups.main.folders.docs]\npath = '/srv'\n", "folders.docs", "of this machine", "take it out"),
    (
        SSH_WHOLE + "[mcp.files]\ncommand = ['x']\ngroups = ['main']\nfolders = ['.']\n",
        "mcp.files.folders",
        "on another machine",
        "take them out",
    ),
    (GROUP + "[groups.main.sandbox]\nhost = 'a'\n", "sandbox.host", 'back end "ssh" alone', 'backend = "ssh"'),
    (GROUP + "[groups.main.sandbox]\nroot = '/srv'\n", "sandbox.root", 'back end "ssh" alone', 'backend = "ssh"'),
    (GROUP + "[groups.main.lanes]\nsubagents = 0\n", "groups.main.lanes.subagents", "at least 1", "subagents = 3"),
    (GROUP + 'folders.docs = { path = "docs" }\n', "groups.main.folders.docs.path", "not a full path", "from /"),
    (GROUP + 'folders.docs = { path = "/" }\n', "folders.docs.path", "host's own folder", "neither holds it"),
    (GROUP + f'folders.k = {{ path = "{HOME}/keys" }}\n', "folders.k.path", "host's own folder", "nor lies in it"),
    (GROUP + 'folders.d = { path = "/srv", mode = "rw" }\n', "folders.d.mode", '"read", "write"', 'mode = "read"'),
    (GROUP + '[secrets.x]\nref = "env:A"\ntools = ["shel"]\n', "secrets.x.tools", "unknown tool", "shell"),
    (GROUP + '[secrets.x]\nref = "env:A"\nhosts = ["a b"]\n', "secrets.x.hosts", "no host name", "names only"),
    (GROUP + "[secrets.x]\n", "secrets.x.ref", "is missing", 'ref = "…"'),
]


@pytest.mark.parametrize(
    ("text", "key", "wrong", "remedy"), WRONG, ids=[f"{row[1]}-{i}" for i, row in enumerate(WRONG)]
)
def test_an_error_names_the_key_what_is_wrong_the_remedy_and_the_file(
    text: str, key: str, wrong: str, remedy: str
) -> None:
    """Whatever is wrong, the message suffices to mend it."""
    message = refusal(text)
    assert str(HOME / "elis.toml") in message
    line = next(line for line in message.splitlines() if key in line)
    before, _, after = line.partition("; ")
    assert wrong in before
    assert remedy in after


CONTAINER = GROUP + "[groups.main.sandbox]\nbackend = 'container'\nimage = 'localhost/tools:1'\n"
LATER = [
    ("[nats]\nurl = 'tls://nats.example.org:4222'\n" + GROUP, "nats"),
    ("[telemetry]\nendpoint = 'http://127.0.0.1:4318'\n" + GROUP, "telemetry"),
    (MODEL + "fallback = 'main'\n" + GROUP, "models.main.fallback"),
    (GROUP + "[groups.main.a2a]\nmax_depth = 4\n", "groups.main.a2a"),
    (GROUP + "[groups.main.browser]\nallow = []\n", "groups.main.browser"),
    (GROUP + "[groups.main.policy]\nbrowse = 'deny'\n", "groups.main.policy.browse"),
    (CONTAINER + "network = ['example.org']\n", "groups.main.sandbox.network"),
    (CONTAINER + "packages = ['requests']\n", "groups.main.sandbox.packages"),
]


@pytest.mark.clause("BOX-3")
@pytest.mark.parametrize("host", ["build", "elis@build.example.org", "10.0.0.7", "2001:db8::7", "a_b"])
def test_another_machine_is_named_as_ssh_knows_it(host: str) -> None:
    """Together with the folder there."""
    sandbox = settings(SSH + f"host = '{host}'\nroot = '/srv/work'\n").groups["main"].sandbox
    assert (sandbox.backend, sandbox.host, sandbox.root) == ("ssh", host, "/srv/work")


@pytest.mark.clause("POL-3")
@pytest.mark.parametrize(("text", "key"), LATER, ids=[f"{row[1]}-{i}" for i, row in enumerate(LATER)])
def test_a_key_that_is_not_acted_on_yet_is_refused_as_unsupported(text: str, key: str) -> None:
    """Nothing that restricts or opens something is accepted and then ignored; the exit code is 27."""
    with pytest.raises(Unsupported) as caught:
        settings(text)
    assert f" {key}: " in str(caught.value)
    assert caught.value.reason.exit_code == 27


def test_what_asks_for_nothing_beyond_this_version_is_accepted() -> None:
    """Later keys with the value that changes nothing do no harm."""
    read = settings(GROUP + "[groups.main.sandbox]\nnetwork = []\n[groups.main.approvals]\nassisted = false\n")
    assert read.groups["main"].sandbox.network == ()


SECRETS = [
    MODEL + 'api_key = "sk-SHIBBOLETH"\n' + GROUP,
    MODEL + 'api_key = "env:sk-SHIBBOLETH"\n' + GROUP,
    MODEL + 'api_key = "https://SHIBBOLETH@x/"\n' + GROUP,
    GROUP + '[secrets.x]\nref = "SHIBBOLETH"\n',
    MODEL.replace("127.0.0.1", "u:SHIBBOLETH@127.0.0.1") + GROUP,
    '[nats]\nurl = "tls://u:SHIBBOLETH@n"\n' + GROUP,
    '[mcp.a]\nurls = ["https://SHIBBOLETH@n"]\n' + GROUP,
    '[host]\nlisten = "SHIBBOLETH@127.0.0.1:8700"\n' + GROUP,
    MODEL + "api_key = [1, 'SHIBBOLETH']\n" + GROUP,
    MODEL + "api_key = 'SHIBBOLETH\n" + GROUP,
    GROUP + 'guard = "SHIBBOLETH"\n',
]


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize("text", SECRETS)
def test_a_raw_secret_is_refused_without_being_repeated(text: str) -> None:
    """A value that may be a secret never reaches a message."""
    message = refusal(text)
    assert "SHIBBOLETH" not in message


@pytest.mark.clause("SEC-1")
def test_a_secret_that_the_host_itself_uses_cannot_be_lent() -> None:
    """One reference for a model's key and for tools is refused, naming both places."""
    message = refusal(MODEL + 'api_key = "env:KEY"\n' + GROUP + '[secrets.x]\nref = "env:KEY"\ntools = ["shell"]\n')
    assert "secrets.x.ref" in message
    assert "models.main" in message


OWN = [
    ("file:key", "file:/home/somebody/.elis/x/../key"),
    ("op://Work/OpenAI/key", "op:work/openai/KEY"),
    ("keyring:elis/openai", "keyring:elis /openai"),
    ("pass:a/b", "pass:/a/b"),
    ("bw:openai", "bw:password/OpenAI"),
]


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize(("used", "lent"), OWN)
def test_another_spelling_of_what_the_host_uses_cannot_be_lent_either(used: str, lent: str) -> None:
    """The secret is what it is, however it is written."""
    message = refusal(MODEL + f'api_key = "{used}"\n' + GROUP + f'[secrets.x]\nref = "{lent}"\ntools = ["shell"]\n')
    assert "secrets.x.ref" in message
    assert "models.main" in message


@pytest.mark.clause("SEC-1", "SEC-3")
@pytest.mark.parametrize("ref", ["file:token", "file:keys/ray", "env:BW_SESSION", "keyring:elis-host/main"])
def test_what_belongs_to_the_host_itself_cannot_be_lent(ref: str) -> None:
    """Its token, its keys, and what it opens vaults with."""
    assert "of the host itself" in refusal(GROUP + f'[secrets.x]\nref = "{ref}"\n') or "opens a vault" in refusal(
        GROUP + f'[secrets.x]\nref = "{ref}"\n'
    )


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize("ref", ["keyring:elis/github", "op://Work/GitHub/token", "bw:github", "pass:web/github"])
def test_every_kind_of_reference_is_accepted(ref: str) -> None:
    """Without asking any vault."""
    assert settings(GROUP + f'[secrets.x]\nref = "{ref}"\n').secrets["x"].ref == ref


def test_a_syntax_error_gives_line_and_column() -> None:
    """A person finds the place."""
    message = refusal("[host]\nname = home\n")
    assert "line 2" in message
    assert "column" in message


def test_text_that_is_not_utf8_gives_the_line() -> None:
    """A person finds the place there too."""
    with pytest.raises(SettingsError, match="line 2 is not UTF-8"):
        module.parse(b"# a\n# \xff\n", HOME / "elis.toml", administrator=NOWHERE)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    """A person mends a file in one go, not one error a start."""
    message = refusal('[host]\nnmae = "x"\n' + GROUP + "[groups.main.budget]\ntokens = 'x'\n[groups.main.a2a]\n")
    assert all(key in message for key in ("host.nmae", "groups.main.budget.tokens", "groups.main.a2a"))


def test_the_first_file_is_accepted_and_gives_the_defaults() -> None:
    """What is written for a newcomer reads as the contract's defaults."""
    read = settings(FIRST)
    bare = settings(GROUP)
    assert read.host == bare.host
    assert read.groups["main"].budget == bare.groups["main"].budget
    assert set(read.groups["main"].policy.choices.values()) == {Decision.ALLOW, Decision.ASK}


def test_everything_of_the_contract_that_works_now_is_read() -> None:
    """The contract's example, less what comes later, means what it says."""
    read = settings("""
[host]
name = "home"
listen = "[::1]:0"
default_group = "main"
[models.main]
provider = "openai"
base_url = "http://127.0.0.1:11434/v1"
model = "qwen3:8b"
api_key = "env:OPENAI_API_KEY"
context_tokens = 32768
capabilities = ["tools", "vision"]
price = { input = 1, output = 2.5 }
[groups.main]
model = "main"
aux_model = "main"
timezone = "Europe/Berlin"
stop_words = ["halt"]
guard = "off"
[groups.main.folders]
docs = { path = "/srv/docs", mode = "write" }
[groups.main.budget]
tokens = inf
cost_usd = 2
[groups.main.daily]
cost_usd = 5.0
[groups.main.policy]
read = "allow"
shell = "deny"
unattended = "deny"
everything = "allow"
[groups.main.approvals]
timeout_seconds = 20
[groups.main.sandbox]
backend = "none"
network = ["example.org", "=id.example.net", "git.example.org:8443"]
[groups.main.lanes]
queue = 3
[secrets.github]
ref = "file:~/.github-token"
tools = ["http"]
hosts = ["api.github.com"]
""")
    group = read.groups["main"]
    assert math.isinf(group.budget.tokens)
    assert (group.budget.cost_usd, group.budget.steps) == (2.0, 50)
    assert group.policy.choices == {"read": Decision.ALLOW, "shell": Decision.DENY}
    assert (group.policy.unattended, group.policy.everything) == ("deny", "allow")
    assert group.folders["docs"].mode == "write"
    assert group.sandbox.network == ("example.org", "=id.example.net", "git.example.org:8443")
    assert read.models["main"].price is not None
    assert read.models["main"].price.input == 1.0
    assert read.secrets["github"].hosts == ("api.github.com",)


@pytest.mark.clause("PAN-2")
def test_listening_beyond_this_machine_is_accepted_with_tls_or_a_proxy() -> None:
    """The operator's word is needed, and enough."""
    proxied = '[host]\nlisten = "0.0.0.0:8700"\nproxy_url = "https://elis.example.org"\n'
    own = '[host]\nlisten = "192.0.2.7:8700"\ntls_certificate = "/c.pem"\ntls_key = "/k.pem"\n'
    assert settings(proxied + GROUP).host.listen == "0.0.0.0:8700"
    assert settings(own + GROUP).host.tls_key == "/k.pem"


def test_a_small_window_leaves_room_beside_the_reply() -> None:
    """Where only a small window is stated, the default reply takes a quarter of it."""
    assert settings(MODEL + "context_tokens = 2048\n" + GROUP).models["main"].output_tokens == 512
    assert settings(MODEL + GROUP).models["main"].output_tokens == 4096


def test_the_embedded_model_needs_no_key_but_its_provider() -> None:
    """What is left unsaid is what it is; what is said stands."""
    assert settings('[models.main]\nprovider = "embedded"\n' + GROUP).models["main"] == EMBEDDED
    said = '[models.main]\nprovider = "embedded"\noutput_tokens = 64\ncontext_tokens = 4096\n'
    read = settings(said + GROUP).models["main"]
    assert (read.output_tokens, read.context_tokens, read.capabilities) == (64, 4096, ())


def test_without_tool_names_any_name_may_be_a_tools() -> None:
    """The loader knows no tools by itself; who does passes their names."""
    text = GROUP + '[groups.main.policy]\nsomething = "deny"\n'
    read = module.parse(text.encode(), HOME / "elis.toml", None, administrator=NOWHERE)
    assert read.groups["main"].policy.choices == {"something": Decision.DENY}


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize(
    "text",
    [
        "[secrets.x]\nref = 'env:X'\n[secrets.x.RAWa1b2c3d4e5f6g7h8i9j0]\n",
        "[secrets.x]\nref = 'env:X'\nRAWhunter = 1\n",
        "[secrets.RAWa1b2c3d4e5f6g7h8i9j0]\nref = 'env:X'\n",
        "[mcp.x]\ncommand = ['x']\nRAWa8f5f167f44f4964e6c998dee827110c = 1\n",
        "RAWa8f5f167f44f4964e6c998dee827110c = 1\n",
        "[secrets.RAWa1b2c3]\n[secrets.RAWa1b2c3]\n",
        "[secrets]\nx = 1\nx.RAWa1b2c3 = 2\n",
    ],
)
def test_a_value_that_stands_where_a_name_belongs_is_not_repeated(text: str) -> None:
    """Neither as an unknown key nor as a name nor in what is wrong with the TOML."""
    assert "RAW" not in refusal(GROUP + text)


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"])
def test_the_key_of_a_model_that_is_found_by_looking_is_not_lendable(variable: str) -> None:
    """Where the settings name no model the variables that discovery reads are the host's own; else they are free."""
    secret = f"[secrets.x]\nref = 'env:{variable}'\ntools = ['http']\n"
    assert "cannot be lent" in refusal(GROUP + secret)
    assert settings(MODEL + GROUP + secret).secrets["x"].ref == f"env:{variable}"
