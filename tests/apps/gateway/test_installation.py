"""`pageturn doctor` without a store says what is wrong with an installation; the files of `deploy/` say what the program takes."""

import configparser
import re
from pathlib import Path

from tests.apps.cli.command import run
from tests.apps.gateway.upstream import Reply

DEPLOY = Path(__file__).parents[3] / "deploy"


def settings(tmp_path, upstream, more=""):
    file = tmp_path / "config.toml"
    vendors = "".join(f'{name} = "{upstream.url}/v1"\n' for name in ("anthropic", "openai", "chatgpt", "gemini"))
    file.write_text(f'[gateway]\nstore = "{tmp_path}/gateway.db"\n{more}\n[upstream]\n{vendors}')
    return file


def test_a_sound_installation(upstream, tmp_path):
    done = run("doctor", "--config", settings(tmp_path, upstream))
    assert done.returncode == 0
    assert f"ok  {upstream.url} answers" in done.stdout
    assert "BAD" not in done.stdout
    assert re.search(r"aiohttp \d", done.stdout)


def test_what_is_wrong_is_named(upstream, tmp_path):
    upstream.answer = lambda _: Reply([], headers=[("date", "Mon, 01 Jan 2024 00:00:00 GMT")])
    file = settings(tmp_path, upstream, 'token = "abcdef"')
    file.chmod(0o644)
    (tmp_path / "gateway.db").write_bytes(b"")
    (tmp_path / "gateway.db").chmod(0o644)
    with file.open("a") as more:
        more.write('\n[upstreams.far]\nurl = "http://127.0.0.1:1/v1"\nformat = "openai"\nkey = "env:NOT_SET"\n')
    done = run("doctor", "--config", file)
    bad = "\n".join(line for line in done.stdout.splitlines() if line.startswith("BAD"))
    assert done.returncode == 1
    for told in (
        "can read the store",
        "may have a token",
        "env:NOT_SET",
        "the clock is +",
        "127.0.0.1:1 gave no answer",
    ):
        assert told in bad
    assert "abcdef" not in done.stdout


def test_settings_that_cannot_be_are_named(tmp_path):
    (tmp_path / "c.toml").write_text("[gateway]\nport = 'x'\n")
    done = run("doctor", "--config", tmp_path / "c.toml")
    assert (done.returncode, "c.toml:2 (port)" in done.stdout) == (1, True)


def test_the_unit_and_the_image_name_what_there_is():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "pageturn.service")
    assert unit["Service"]["ExecStart"].split()[1:3] == ["serve", "--config"]
    image = (DEPLOY / "Dockerfile").read_text()
    assert image.index("USER pageturn") < image.index("ENTRYPOINT")
    variables = set(re.findall(r"PAGETURN_[A-Z_]+", image + (DEPLOY / "pageturn.service").read_text()))
    assert variables <= {"PAGETURN_HOST", "PAGETURN_PORT", "PAGETURN_STORE", "PAGETURN_LOGS", "PAGETURN_TOKEN"}
    shown = run("serve", "--help").stdout
    assert "--config" in shown
