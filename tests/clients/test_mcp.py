"""The MCP server in real clients: the inspector's command line, and Claude Code and Codex after `pageturn mcp install`.

`make test-clients` installs and runs them; `make test` does not.
"""

import json
import os
import subprocess
import sys

import pytest

import pageturn as pt
from tests.clients.installed import PATH, version

pytestmark = [
    pytest.mark.skipif(not os.environ.get("PAGETURN_CLIENTS"), reason="real clients: make test-clients"),
    pytest.mark.timeout(600),
]
FOUND = "def is_expired(token)"


@pytest.fixture
def store(tmp_path):
    file = tmp_path / "agent.db"
    with pt.Session.open(file, id="login-bug") as session:
        session.append(pt.user("Login returns 500 since yesterday."))
        session.append(pt.assistant(f"I read src/auth/login.py: {FOUND}"))
    return file


@pytest.fixture
def handle(store):
    with pt.SessionReader.open(store, "login-bug") as reader:
        return reader.pages()[0].handle


def require(client):
    if version(client) is None:
        pytest.skip(f"{client} is not installed: make test-clients")


def inspected(store, *arguments):
    """What the inspector prints of one method."""
    command = ["mcp-inspector", "--cli", sys.executable, "-m", "pageturn", "mcp", str(store), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": PATH})
    assert done.returncode == 0, done.stderr[-1500:]
    return json.loads(done.stdout)


def test_the_inspector_lists_calls_and_reads(store, handle):
    require("inspector")
    tools = inspected(store, "--method", "tools/list")["tools"]
    assert [tool["name"] for tool in tools][:2] == ["recall", "resolve"]
    (found,) = inspected(store, "--method", "tools/call", "--tool-name", "recall", "--tool-arg", "query=is_expired")[
        "content"
    ]
    assert FOUND in found["text"]
    (read,) = inspected(store, "--method", "resources/read", "--uri", f"pageturn://session/login-bug/page/{handle}")[
        "contents"
    ]
    assert "Login returns 500" in read["text"]
    (session,) = inspected(store, "--method", "resources/list")["resources"]
    assert session["uri"] == "pageturn://session/login-bug"


@pytest.mark.parametrize(
    ("name", "client", "shown"), [("claude", "claude-code", "Connected"), ("codex", "codex", "enabled")]
)
def test_a_client_has_the_server_until_it_is_uninstalled(store, tmp_path, name, client, shown):
    require(name)
    environ = {"PATH": PATH, "HOME": str(tmp_path / "home"), "IS_SANDBOX": "1", "DISABLE_TELEMETRY": "1"}
    (tmp_path / "home").mkdir()
    ours = [sys.executable, "-m", "pageturn", "mcp"]

    def servers():
        done = subprocess.run(
            [name, "mcp", "list"], capture_output=True, text=True, check=True, env=environ, cwd=tmp_path, timeout=120
        )
        return [line for line in done.stdout.splitlines() if line.startswith("pageturn")]

    subprocess.run([*ours, "install", "--client", client, "--store", store, "--yes"], env=environ, check=True)
    (line,) = servers()
    assert shown in line
    subprocess.run([*ours, "uninstall", "--client", client, "--yes"], env=environ, check=True)
    assert servers() == []
