"""The command line, run as a user runs it."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner

from pageturn.apps.cli import main as program
from pageturn.values.errors import InvalidInput

PAGETURN = Path(sys.executable).parent / "pageturn"


def run(*arguments):
    return subprocess.run([PAGETURN, *arguments], capture_output=True, text=True, check=False)


def test_the_demo_shows_every_page_with_its_kind():
    shown = run("demo")
    assert shown.returncode == 0
    assert shown.stderr == ""
    for word in ("bootstrap", "evidence", "conversation", "full", "compressed", "structured", "pointer"):
        assert word in shown.stdout


def test_help_and_version():
    assert "demo" in run("--help").stdout
    assert version("pageturn") in run("--version").stdout


def test_an_unknown_command_is_refused_without_a_traceback():
    wrong = run("dmeo")
    assert wrong.returncode == 2
    assert "No such command" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_a_terminal_without_our_letters_gets_others():
    shown = subprocess.run([PAGETURN, "demo"], capture_output=True, env={"PYTHONIOENCODING": "ascii"}, check=False)
    assert shown.returncode == 0
    assert b"bootstrap" in shown.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_that_cannot_be_written_is_one_line():
    with Path("/dev/full").open("w") as full:
        wrong = subprocess.run([PAGETURN, "demo"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (wrong.returncode, wrong.stderr) == (1, "pageturn: [Errno 28] No space left on device\n")


def test_an_error_of_ours_is_one_line(monkeypatch, capsys):
    def fail(**_options):
        raise InvalidInput("$.x", expected="a", got="b")

    monkeypatch.setattr(program, "cli", fail)
    with pytest.raises(SystemExit, match="1"):
        program.main()
    assert capsys.readouterr().err == "pageturn: $.x: expected a, got b\n"


def test_the_demo_runs_in_process_too():
    assert CliRunner().invoke(program.cli, ["demo"]).exit_code == 0
