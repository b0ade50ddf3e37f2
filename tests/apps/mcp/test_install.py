"""The server in a client's own settings: put in and taken back, with every other byte as it was."""

import json
import sys
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pageturn.apps.mcp import settings_json, settings_toml
from pageturn.apps.mcp.install import command_for, installed, uninstalled, write
from tests.apps.cli.command import run

OURS = {"type": "stdio", "command": "/opt/py thon", "args": ["-m", "pageturn", "mcp", '/home/é"x\\y.db']}
TABLE = {name: value for name, value in OURS.items() if name != "type"}

FILES_JSON = [
    '{\n  "numStartups": 3,\n  "theme": "dark"\n}\n',
    '{\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  },\n  "projects": {"/a": {"mcpServers": {"pageturn": 1}}}\n}',
    '{"a":1,"mcpServers":{"other":{"command":"x"}},"b":[1.50,1e400,"\\u00e9"]}',
    '{\r\n\t"mcpServers": {\r\n\t\t"other": {}\r\n\t},\r\n\t"b": "é </page> \\" , }"\r\n}\r\n',
    '  {"b": {}}  \n',
]
FILES_TOML = [
    'model = "gpt-5"\n',
    'model = "gpt-5"',
    '# mine\n[mcp_servers.other]\ncommand = "x"  # why\nargs = [\n  "[a]",\n]\n\n# of the next\n[mcp_servers.other.env]\nA = "1"\n',
    'a = 1\r\n[b]\r\nc = """\r\n[not.a.table]\r\n"""\r\n',
    '[profiles."my profile"]\nmodel = "é"\n\n\n',
]


@pytest.mark.parametrize("text", FILES_JSON)
def test_json_comes_back_byte_for_byte(text):
    there = settings_json.with_server(text, "pageturn", OURS)
    expected = json.loads(text)
    expected.setdefault("mcpServers", {})["pageturn"] = OURS
    assert json.loads(there) == expected
    assert settings_json.with_server(there, "pageturn", OURS) == there
    assert settings_json.without_server(there, "pageturn") == text


@pytest.mark.parametrize("text", FILES_TOML)
def test_toml_comes_back_byte_for_byte(text):
    there = settings_toml.with_server(text, "pageturn", TABLE)
    assert there.startswith(text)
    expected = tomllib.loads(text)
    expected.setdefault("mcp_servers", {})["pageturn"] = TABLE
    assert tomllib.loads(there) == expected
    assert settings_toml.with_server(there, "pageturn", TABLE) == there
    assert settings_toml.without_server(there, "pageturn") == text


def test_json_is_laid_out_like_what_is_there():
    there = settings_json.with_server(FILES_JSON[1], "pageturn", {"command": "x", "args": []})
    assert '    },\n    "pageturn": {\n      "command": "x",\n      "args": []\n    }\n  },\n' in there
    assert "\n" not in settings_json.with_server('{"mcpServers":{"o":{}}}', "pageturn", OURS)


def test_what_others_wrote_around_ours_stays():
    text = (
        '# top\n[mcp_servers.pageturn]\ncommand = "old"\n\n[mcp_servers.pageturn.env]\nA = "1"\n\n# of b\n[b]\nc = 1\n'
    )
    assert settings_toml.without_server(text, "pageturn") == "# top\n\n# of b\n[b]\nc = 1\n"
    text = '{"mcpServers": {"pageturn": {"command": "old"}, "other": {}}, "z": 1}'
    assert settings_json.without_server(text, "pageturn") == '{"mcpServers": {"other": {}}, "z": 1}'


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.text(max_size=8), JSON_VALUES, max_size=4),
    st.dictionaries(st.text(max_size=8), JSON_VALUES, min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from([None, 1, 2, 4, "\t"]),
    st.booleans(),
)
def test_any_json_comes_back_byte_for_byte(values, servers, has_servers, indent, is_ascii):
    servers.pop("pageturn", None)
    values.pop("mcpServers", None)
    if has_servers and servers:
        values["mcpServers"] = servers
    if not values:
        values["a"] = 1
    text = json.dumps(values, indent=indent, ensure_ascii=is_ascii)
    there = settings_json.with_server(text, "pageturn", OURS)
    assert json.loads(there)["mcpServers"] == {**values.get("mcpServers", {}), "pageturn": OURS}
    assert settings_json.without_server(there, "pageturn") == text


REFUSED_JSON = [
    "[1]",
    "{",
    '{"mcpServers": []}',
    '{"a": 1} // mine',
    '\ufeff{"a": 1}',
    '{"mcpServers": {}, "mcpServers": {}}',
    "[" * 5_000,
    "null",
]
REFUSED_TOML = ["a = ", "mcp_servers = 1\n", "mcp_servers = {a = {command = 'x'}}\n", "[[mcp_servers]]\nx = 1\n"]
REFUSED_TOML += [f"a = {'9' * 5_000}\n", f"a = {'[' * 5_000}\n"]


@pytest.mark.parametrize(
    ("client", "name", "text"),
    [("claude-code", ".claude.json", text) for text in REFUSED_JSON]
    + [("codex", "config.toml", text) for text in REFUSED_TOML],
)
def test_what_cannot_be_parsed_or_edited_is_refused_and_stays(home, client, name, text):
    (home / name).write_text(text)
    done = run("mcp", "install", "--client", client, "--yes")
    assert done.returncode == 1
    assert "nothing was changed" in done.stderr
    assert "Traceback" not in done.stderr
    assert (home / name).read_text() == text


def test_a_table_in_a_text_of_many_lines_is_refused(home):
    text = 'a = """\n[mcp_servers.pageturn]\ncommand = "x"\n"""\n[mcp_servers.pageturn]\ncommand = "y"\n'
    (home / "config.toml").write_text(text)
    assert run("mcp", "uninstall", "--client", "codex", "--yes").returncode == 1
    assert (home / "config.toml").read_text() == text


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of a client without any settings."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


CASES = [("claude-code", ".claude.json", settings_json), ("codex", "config.toml", settings_toml)]


@pytest.mark.parametrize(("client", "name", "format"), CASES)
def test_a_file_that_was_not_there_is_gone_again(home, client, name, format):
    done = run("mcp", "install", "--client", client, "--store", "my.db", "--scope", "shop", "--yes")
    assert done.returncode == 0, done.stderr
    entry = format.server_in((home / name).read_text(), "pageturn")
    assert [entry["command"], *entry["args"]] == [
        sys.executable,
        "-m",
        "pageturn",
        "mcp",
        str(home / "my.db"),
        "--scope",
        "shop",
    ]
    assert str(home / name) in done.stderr
    assert (home / name).stat().st_mode & 0o777 == 0o600
    assert run("mcp", "uninstall", "--client", client, "--yes").returncode == 0
    assert not (home / name).exists()


@pytest.mark.parametrize(("client", "name", "format"), CASES)
def test_an_installation_is_repeated_replaced_and_taken_back(home, client, name, format):
    before = FILES_JSON[1] if format is settings_json else FILES_TOML[2]
    (home / name).write_text(before)
    (home / name).chmod(0o640)
    assert run("mcp", "install", "--client", client, "--store", "a.db", "--yes").returncode == 0
    once = (home / name).read_bytes()
    again = run("mcp", "install", "--client", client, "--store", "a.db", "--yes")
    assert "has it already; nothing was changed" in again.stderr
    assert (home / name).read_bytes() == once
    replaced = run("mcp", "install", "--client", client, "--store", "b.db", "--yes")
    assert "a.db` , run by".replace(" ,", ",") in replaced.stderr
    assert str(home / "b.db") in (home / name).read_text()
    assert run("mcp", "uninstall", "--client", client, "--yes").returncode == 0
    assert (home / name).read_text() == before
    assert (home / name).stat().st_mode & 0o777 == 0o640
    assert (
        "has no server `pageturn`; nothing was changed" in run("mcp", "uninstall", "--client", client, "--yes").stderr
    )
    assert [file.name for file in home.iterdir()] == [name]


@pytest.mark.parametrize(("client", "name"), [("claude-code", ".mcp.json"), ("codex", ".codex/config.toml")])
def test_a_project_has_settings_of_its_own(home, client, name):
    assert run("mcp", "install", "--client", client, "--project", "--yes").returncode == 0
    assert "pageturn" in (home / name).read_text()
    assert run("mcp", "uninstall", "--client", client, "--project", "--yes").returncode == 0
    assert not (home / name).exists()


def test_nothing_is_changed_without_a_yes(home):
    done = run("mcp", "install", "--client", "codex")  # nobody is there to answer
    assert done.returncode == 1
    assert "adds the MCP server `pageturn`" in done.stderr
    assert list(home.iterdir()) == []


def test_a_link_stays_a_link(home):
    (home / "real.toml").write_text("a = 1\n")
    (home / "config.toml").symlink_to("real.toml")
    assert run("mcp", "install", "--client", "codex", "--yes").returncode == 0
    assert (home / "config.toml").is_symlink()
    assert "pageturn" in (home / "real.toml").read_text()


def test_a_file_that_changed_meanwhile_is_left(home):
    (home / "config.toml").write_text("a = 1\n")
    change = installed("codex", command_for("x.db", None), project=None)
    (home / "config.toml").write_text("a = 2\n")
    with pytest.raises(ValueError, match="has just changed"):
        write(change)
    assert (home / "config.toml").read_text() == "a = 2\n"
    assert uninstalled("codex", project=None).after == b"a = 2\n"
