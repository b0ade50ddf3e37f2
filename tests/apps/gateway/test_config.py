"""Settings: which source counts, and what is refused, with its place."""

import tomllib

import pytest

from pageturn.apps.gateway.config import commented, load_config
from pageturn.values.errors import InvalidInput


def load(flags=None, text=None, path=None, **environ):
    if text is not None:
        path.write_text(text)
    return load_config(flags or {}, path, environ)


def test_flags_count_before_variables_before_the_file_before_vendors_variables(tmp_path):
    file = tmp_path / "c.toml"
    theirs = {"ANTHROPIC_BASE_URL": "http://chained:1"}
    ours = {"PAGETURN_ANTHROPIC_URL": "http://ours:2"}
    said = '[upstream]\nanthropic = "http://file:3"\n'
    assert load().bases["anthropic"] == "https://api.anthropic.com"
    assert load(**theirs).bases["anthropic"] == "http://chained:1"
    assert load(text=said, path=file, **theirs).bases["anthropic"] == "http://file:3"
    assert load(path=file, **theirs, **ours).bases["anthropic"] == "http://ours:2"
    assert load({"anthropic": "http://flag:4"}, path=file, **theirs, **ours).bases["anthropic"] == "http://flag:4"
    assert load(OPENAI_BASE_URL="http://o/v1/").bases["openai"] == "http://o/v1"


def test_the_file_is_looked_for_where_settings_are(tmp_path):
    assert load(XDG_CONFIG_HOME=str(tmp_path)).port == 8787
    folder = tmp_path / "pageturn"
    folder.mkdir()
    (folder / "config.toml").write_text("[gateway]\nport = 99\n")
    assert load(XDG_CONFIG_HOME=str(tmp_path)).port == 99


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("[gateway]\n\nport = 70000\n", ":3 (port)", "a port"),
        ('[gateway]\nport = "x"\n', ":2 (port)", "a port"),
        ("[gateway]\nport = true\n", ":2 (port)", "a port"),
        ('[gateway]\nmode = "shrink"\n', ":2 (mode)", "one of watch, manage, recall"),
        ("[gateway]\nroom = 3\n", ":2 (room)", "4,000 at least"),
        ('# text\n[upstream]\nopenai = "ftp://x"\n', ":3 (openai)", "a base URL"),
        ('[upstream]\nopenai = "https://user:pw@x/v1"\n', ":2 (openai)", "a base URL"),
        ('[upstream]\nopenai = "http://[1/v1"\n', ":2 (openai)", "a base URL"),
        ('[upstream]\nother = "nobody"\n', ":2 (other)", "one of anthropic"),
        ("[gateway]\nprot = 1\n", ":2 (prot)", "one of mode, room, host, port"),
        ("[gate]\nport = 1\n", ":1", "[gateway] or [limits] or"),
        ("gateway.port = 'x'\n", ":1 (port)", "a port"),
        ("port = 1\n", ":1 (port)", "[gateway] or [limits] or"),
        ("[gateway]\nport = \n", ":2", "TOML"),
        (f"port = {'9' * 5_000}\n", ":1", "TOML"),
        (f"port = {'[' * 5_000}\n", ":1", "TOML"),
        ('[gateway]\nhost = ""\n', ":2 (host)", "a text"),
    ],
)
def test_a_bad_value_is_refused_with_its_file_and_line(tmp_path, text, place, said):
    file = tmp_path / "c.toml"
    with pytest.raises(InvalidInput) as error:
        load(text=text, path=file)
    assert error.value.path == f"{file}{place}"
    assert said in error.value.expected


def test_a_bad_flag_and_a_bad_variable_are_named():
    with pytest.raises(InvalidInput, match=r"^--port: expected a port"):
        load({"port": "x"})
    with pytest.raises(InvalidInput, match=r"^PAGETURN_OPENAI_URL: expected a base URL"):
        load(PAGETURN_OPENAI_URL="nothing")
    with pytest.raises(InvalidInput, match="one of watch, manage, recall"):
        load({"mode": "everything"})


def test_a_file_that_is_named_must_be_there(tmp_path):
    with pytest.raises(InvalidInput, match="a file that can be read"):
        load(path=tmp_path / "none.toml")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.7", "::", "example.com"])
def test_an_address_that_others_reach_needs_a_token(host):
    with pytest.raises(InvalidInput, match="not this machine alone"):
        load({"host": host})
    assert load({"host": host, "token": "x"}).token == "x"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.1.2.3"])
def test_this_machine_needs_none(host):
    assert load({"host": host}).token is None


def test_where_the_store_is(tmp_path):
    usual = load(XDG_DATA_HOME=str(tmp_path))
    assert usual.store_file == tmp_path / "pageturn" / "gateway.db"
    assert usual.store == f"sqlite:{tmp_path}/pageturn/gateway.db?durability=normal&wait_seconds=1"
    assert load(HOME="/home/me").store_file.as_posix() == "/home/me/.local/share/pageturn/gateway.db"
    assert load({"store": "none"}).store is None
    assert load({"store": ":memory:"}).store_file is None
    assert load({"store": "sqlite:a.db?durability=full"}).store == "sqlite:a.db?durability=full"
    assert load(PAGETURN_STORE="b.db").store_file.name == "b.db"


def test_a_store_in_postgresql_is_printed_without_its_password():
    url = "postgresql://me:canary@db.example:5432/agents?wait_seconds=1"
    config = load(PAGETURN_STORE=url)
    assert (config.store, config.store_file) == (url, None)
    printed = commented(config, {"HOME": "/home/me"})
    assert 'store = "postgresql://db.example:5432/agents"' in printed
    assert "canary" not in printed


def test_the_file_that_is_printed_says_the_same(tmp_path):
    flags = {
        "port": 7,
        "openai": "http://x/v1",
        "token": "canary",
        "host": "0.0.0.0",
        "store": str(tmp_path / 'a"b.db'),
    }
    config = load(flags, PAGETURN_OTHER="gemini")
    text = commented(config, {"HOME": "/home/me"})
    assert "canary" not in text
    assert text.count("#") > 8
    tomllib.loads(text)
    file = tmp_path / "c.toml"
    again = load(text=text, path=file, PAGETURN_TOKEN="canary")
    assert again == config
