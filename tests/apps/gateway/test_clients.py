"""How each client is told to use the gateway, and that nobody's files are changed."""

import json

import pytest

from pageturn.apps.gateway.clients import client_of, launch, vendor_of

URL = "http://127.0.0.1:9"


def told(command, folder, **environ):
    start = launch(command, URL, folder, {"PATH": "/bin", **environ})
    assert start.environ["PATH"] == "/bin"
    return start.command, {name: start.environ[name] for name in start.environ if name not in {"PATH", *environ}}


LOCAL = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


def test_claude_codex_and_gemini(tmp_path):
    assert told(["claude", "-p", "hi"], tmp_path) == (("claude", "-p", "hi"), {"ANTHROPIC_BASE_URL": URL, **LOCAL})
    flag = f'openai_base_url="{URL}/v1"'
    assert told(["/usr/bin/codex", "exec", "hi"], tmp_path) == (("/usr/bin/codex", "-c", flag, "exec", "hi"), LOCAL)
    assert told(["npx", "-y", "@openai/codex@0.166", "exec"], tmp_path)[0] == (
        *("npx", "-y", "@openai/codex@0.166"),
        *("-c", flag, "exec"),
    )
    assert told(["gemini"], tmp_path) == (("gemini",), {"GOOGLE_GEMINI_BASE_URL": URL, **LOCAL})


def test_opencode_keeps_what_it_was_told_before(tmp_path):
    given = {"theme": "x", "provider": {"openai": {"options": {"timeout": 1}}}}
    start = launch(["opencode"], URL, tmp_path, {"OPENCODE_CONFIG_CONTENT": json.dumps(given)})
    options = {vendor: {"options": {"baseURL": f"{URL}/v1"}} for vendor in ("anthropic", "openai")}
    options["openai"]["options"]["timeout"] = 1
    assert json.loads(start.environ["OPENCODE_CONFIG_CONTENT"]) == {"theme": "x", "provider": options}


def test_qwen_is_told_to_use_a_key_where_there_is_one(tmp_path):
    address = {"OPENAI_BASE_URL": f"{URL}/v1", **LOCAL}
    assert told(["qwen", "-p", "x"], tmp_path) == (("qwen", "-p", "x"), address)
    command, variables = told(["qwen", "-p", "x"], tmp_path, OPENAI_API_KEY="k")
    assert (command, variables) == (("qwen", "--auth-type", "openai", "-p", "x"), address)
    command, _ = told(["qwen", "--auth-type=qwen-oauth"], tmp_path, OPENAI_API_KEY="k")
    assert command == ("qwen", "--auth-type=qwen-oauth")


def test_pi_gets_a_folder_with_everything_but_its_addresses(tmp_path):
    home, folder = tmp_path / "agent", tmp_path / "temporary"
    home.mkdir()
    folder.mkdir()
    models = {
        "providers": {"openai": {"baseUrl": "http://own", "headers": {"a": "b"}}, "mine": {"baseUrl": "http://mine"}}
    }
    (home / "models.json").write_text(json.dumps(models))
    (home / "settings.json").write_text('{"theme": "x"}')
    _, variables = told(["pi"], folder, PI_CODING_AGENT_DIR=str(home))
    assert variables == LOCAL  # beside the folder itself
    start = launch(["pi"], URL, _other(tmp_path), {"PI_CODING_AGENT_DIR": str(home)})
    assert start.environ["PI_CODING_AGENT_DIR"] == str(tmp_path / "other")
    assert json.loads((folder / "models.json").read_text())["providers"] == {
        "openai": {"baseUrl": f"{URL}/v1", "headers": {"a": "b"}},
        "mine": {"baseUrl": "http://mine"},
        "anthropic": {"baseUrl": URL},
    }
    assert (folder / "settings.json").read_text() == '{"theme": "x"}'
    (folder / "auth.json").write_text("{}")  # what the client writes is its own afterwards
    assert (home / "auth.json").read_text() == "{}"
    (folder / "sessions" / "one").write_text("x")
    assert (home / "sessions" / "one").exists()
    assert json.loads((home / "models.json").read_text()) == models


def _other(tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    return folder


def test_a_client_that_nobody_knows_gets_what_most_read(tmp_path):
    command, variables = told(["my-agent", "x"], tmp_path, NO_PROXY="inner.example, 127.0.0.1")
    assert command == ("my-agent", "x")
    assert variables["ANTHROPIC_BASE_URL"] == URL
    assert variables["OPENAI_BASE_URL"] == variables["OPENAI_API_BASE"] == f"{URL}/v1"
    start = launch(["my-agent"], URL, tmp_path, {"NO_PROXY": "inner.example, 127.0.0.1"})
    assert start.environ["NO_PROXY"] == "inner.example,127.0.0.1,localhost"


@pytest.mark.parametrize(
    ("command", "client", "vendor"),
    [
        (["claude"], "claude", "anthropic"),
        (["C:/x/claude.cmd"], "claude", "anthropic"),
        (["npx", "@anthropic-ai/claude-code"], "claude", "anthropic"),
        (["npx", "-y", "@qwen-code/qwen-code@1.2"], "qwen", "openai"),
        (["bunx", "opencode-ai"], "opencode", "openai"),
        (["gemini"], "gemini", "gemini"),
        (["env", "A=1", "pi"], "pi", "openai"),
        (["python", "claude"], None, "openai"),
        (["npx"], None, "openai"),
    ],
)
def test_which_client_a_command_runs(command, client, vendor):
    assert (client_of(command), vendor_of(command)) == (client, vendor)
