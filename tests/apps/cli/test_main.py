"""The command line, run as a user runs it."""

import re
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


@pytest.fixture(scope="module")
def demo():
    """What the demo prints into a pipe."""
    shown = run("demo")
    assert (shown.returncode, shown.stderr) == (0, "")
    return shown.stdout


def test_the_demo_tells_what_was_sent_and_what_came_of_it(demo):
    bars = re.findall(r"^ *(\d+)  █+░* +([\d,]+) of +([\d,]+)", demo, re.MULTILINE)
    sent, whole = ([int(row[column].replace(",", "")) for row in bars] for column in (1, 2))
    assert [int(row[0]) for row in bars] == list(range(8, 121, 8))
    assert max(sent) <= 16_000 < whole[-1] / 4
    assert "fold" in demo
    assert "\x1b" not in demo  # no colours in a pipe
    assert "the session knows which" in demo
    assert re.search(r"the line of turn \d+ comes back, 9\d turns later \(no longer in its request\)", demo)
    assert "the rule and the preference are word for word in the last request" in demo
    assert "NO" not in demo.replace("NOT", "NO")


def test_the_demo_ends_with_what_each_method_costs_in_dollars(demo):
    dollars = dict(re.findall(r"^(\S.*?\S)  +[\d.]+ +\$([\d.]+) ", demo, re.MULTILINE))
    assert list(dollars) == ["send everything", "rolling trim", "observation masking", "summary reset", "Pageturn"]
    assert float(dollars["Pageturn"]) < float(dollars["send everything"]) < float(dollars["rolling trim"])
    assert "list prices of 2026-11-18" in demo


def test_the_demo_takes_a_screen_and_a_half(demo):
    lines = demo.splitlines()
    assert len(lines) < 50
    assert max(map(len, (line.rstrip() for line in lines))) <= 80


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


def test_a_terminal_without_our_letters_gets_others():
    shown = subprocess.run([PAGETURN, "demo"], capture_output=True, env={"PYTHONIOENCODING": "ascii"}, check=False)
    assert shown.returncode == 0
    assert b"###" in shown.stdout


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
