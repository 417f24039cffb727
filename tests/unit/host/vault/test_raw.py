"""Secrets in the settings of tool servers, told by their form and not repeated."""

import pytest

from host.config.problems import Problems
from host.vault.raw import check_command, check_environment

REFUSED = [
    ["server", "--api-key=abcdef0123456789"],
    ["server", "--token", "abcdef0123456789"],
    ["server", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"],
    ["server", "postgres://app:hunter2pass@db.example.org/x"],
    ["server", "-H", "Authorization: Bearer abcdef0123456789abcdef"],
    ["env", "API_TOKEN=abc123randomopaque999", "server"],
    ["server", "https://u@host.example/"],
    ["srv", "-k", "RAWa1b2c3d4e5f6g7h8i9j0"],
    ["srv", "--pat", "RAWa8f5b7c1d2e3f4a5b6c7"],
    ["srv", "--pat=RAWa8f5b7c1d2e3f4a5b6c7"],
    ["srv", "-kRAWa1b2c3d4e5f6g7h8i9j0"],
    ["srv", "a8f5f167f44f4964e6c998dee827110c"],
    ["srv", "3f786850e387550fdab836ed7e6dc881de23001b"],
    ["srv", "--openai-key", "RAWa1b2c3d4e5f6g7h8i9j0"],
    ["srv", "--db.passphrase", "correct-horse-battery"],
    ["srv", "--credential=opensesamex1"],
    ["srv", "--start", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzKEY1"],
    ["srv", "-u", "bob:opensesame"],
    ["srv", "--login=bob:opensesame"],
    ["srv", "--db.user", "app:correct-horse-battery"],
    ["srv", "--pw", "opensesamex1"],
    ["srv", "--hook", "https://hooks.example.com/services/T0A1B2C3D/x9Kq2mZ7vW4tY8bN6cR3dL5f"],
    ["srv", "https://api.example.org/v1?sig=x9Kq2mZ7vW4tY8bN6cR3dL5f"],
]
ACCEPTED = [
    ["mcp-server-files", "/workspace/docs"],
    ["npx", "-y", "@modelcontextprotocol/server-github"],
    ["server", "--token-file", "/run/secrets/token", "--port", "8080"],
    ["server", "--url", "https://api.example.org/v1?key=name"],
    ["server", "--commit", "3f786850e387550fdab836ed7e6dc881de23001b"],
    ["server", "--token", "$TOKEN"],
    ["server", "--token", "secret:github", "--key=/etc/ssl/private/key.pem", "-p", "8080", "-k"],
    ["server", "--tenant", "123e4567-e89b-12d3-a456-426614174000"],
    ["server", "--rev=3f786850e387550fdab836ed7e6dc881de23001b"],
    ["uvx", "mcp-server-git@2025.9.25", "--from", "some-long-package-name==1.22.333rc4"],
    ["npx", "-y", "@modelcontextprotocol/server-sequential-thinking@2025.7.1"],
    ["docker", "run", "ghcr.io/example-org/some-server-image:v1.2.3-alpine", "--auth", "none"],
    ["server", "--profile", "x86_64-unknown-linux-gnu", "--path", "node_modules/.bin/server_filesystem_v2"],
    ["server", "--primary-key", "id", "-p", "my-project-12"],
    ["docker", "run", "-u", "1000:1000", "--user", "app", "-v", "/srv/a:/data:ro"],
    ["server", "--base", "https://registry.example.org/v2/some-long-package-name/blobs/latest?format=json&limit=100"],
    ["server", "--login", "bob", "--listen", "localhost:8080"],
]


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize("command", REFUSED, ids=" ".join)
def test_an_argument_that_is_a_secret_is_refused_without_echo(command: list[str]) -> None:
    """The message names the place and the remedy."""
    problems = Problems("elis.toml")
    check_command("mcp.x.command", command, problems)
    message = str(problems.error())
    assert "mcp.x.command[" in message
    assert "secret:NAME" in message
    assert not any(len(word) > 12 and word in message for word in command)


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize("command", ACCEPTED, ids=" ".join)
def test_ordinary_arguments_are_accepted(command: list[str]) -> None:
    """Paths, packages, ports, hashes, and what refers to a variable."""
    problems = Problems("elis.toml")
    check_command("mcp.x.command", command, problems)
    assert problems.error() is None


@pytest.mark.clause("SEC-1", "SEC-3")
def test_a_server_s_environment_holds_references_or_harmless_values() -> None:
    """A raw value and an unknown secret are told apart; nothing is repeated."""
    problems = Problems("elis.toml")
    environment = {
        "TOKEN": "secret:github",
        "LANG": "C.UTF-8",
        "API_KEY": "abcdef0123456789",
        "OTHER": "secret:gone",
        "PLAIN": "x9Kq2mZ7vW4tY8bN6cR3dL5f",
        "HOOK": "https://hooks.example.com/T0/x9Kq2mZ7vW4tY8bN6cR3dL5f",
        "COMMIT": "3f786850e387550fdab836ed7e6dc881de23001b",
        "BASE": "https://api.example.org/v1",
        "MODE": "read-only",
    }
    check_environment("mcp.x.env", environment, {"github": None}, problems)
    message = str(problems.error())
    assert "mcp.x.env.API_KEY" in message
    assert "mcp.x.env.OTHER" in message
    for name in ("PLAIN", "HOOK"):
        assert f"mcp.x.env.{name}" in message
    for name in ("LANG", "COMMIT", "BASE", "MODE"):
        assert name not in message
    assert "env.TOKEN" not in message
    assert "abcdef0123456789" not in message
