"""The command line, run as a user runs it."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from pageturn.apps.cli import main as program
from pageturn.values.errors import InvalidInput

PAGETURN = Path(sys.executable).parent / "pageturn"


def run(*arguments):
    return subprocess.run([PAGETURN, *arguments], capture_output=True, text=True, check=False)


def test_help_lists_every_command_once_and_cuts_no_line():
    shown = run("--help").stdout
    listed = re.findall(r"^  ([a-z]+) {2,}\S.*\.$", shown, re.MULTILINE)
    assert sorted(listed) == sorted(program.cli.commands)
    assert "..." not in shown.partition("Options:")[2]
    assert "Others" not in shown


def test_version():
    assert version("pageturn") in run("--version").stdout


def test_an_unknown_command_is_refused_without_a_traceback():
    wrong = run("dmeo")
    assert wrong.returncode == 2
    assert "No such command" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_an_error_of_ours_is_one_line(monkeypatch, capsys):
    def fail(**_options):
        raise InvalidInput("$.x", expected="a", got="b")

    monkeypatch.setattr(program, "cli", fail)
    with pytest.raises(SystemExit, match="1"):
        program.main()
    assert capsys.readouterr().err == "pageturn: $.x: expected a, got b\n"
