"""What holds for every command: an example that parses, --json with a documented form, --quiet, and its exit codes."""

import json
import shlex
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

import pageturn as pt
from pageturn.apps.cli import answers
from pageturn.apps.cli.documented import Documented
from pageturn.apps.cli.main import cli
from pageturn.values.json import from_json, to_json
from tests.apps.cli.command import run
from tests.sessions import open_session, take_turn
from tools.cli_reference import FILE, commands, page

# Commands without --json, and why.
WITHOUT_JSON = {
    "demo": "a story for people",
    "export": "it prints JSON lines without being asked",
    "route export": "it prints JSON without being asked",
    "completion": "it prints a script for a shell",
    "serve": "it runs until it is stopped",
    "run": "it runs until its client ends, which has the terminal",
    "inspect": "it runs until it is stopped",
    "mcp serve": "it runs until it is stopped",
}
ALL = {" ".join(path): command for path, command in commands(cli, ())}


@pytest.fixture
def path(tmp_path):
    file = str(tmp_path / "agent.db")
    session = open_session(file, id="login-bug")
    session.append(pt.system("You are a coding agent."))
    for turn in range(1, 4):
        take_turn(session, turn)
        session.derive()
    session.close()
    return file


def parsed(words):
    """The command that words call, as click parses them."""
    context = cli.make_context("pageturn", words)
    while isinstance(context.command, click.Group):
        rest = [*context._protected_args, *context.args]
        name, command, rest = context.command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
    return context.command


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_an_example_that_parses(name, tmp_path, monkeypatch):
    command = ALL[name]
    assert isinstance(command, Documented)
    monkeypatch.chdir(tmp_path)
    for file in ("results.jsonl", "state.json"):
        (tmp_path / file).touch()
    assert command.example.startswith(name)
    assert parsed(shlex.split(command.example)) is command
    shown = " ".join(run(*name.split(), "--help").stdout.split())
    assert f"Example: pageturn {' '.join(command.example.split())}" in shown
    assert "Exit codes: 0 done; 1 " in shown
    assert "2 the command line is wrong" in shown


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_the_shared_options_or_a_reason(name):
    options = {option for parameter in ALL[name].params for option in parameter.opts}
    assert (name in WITHOUT_JSON) is ({"--json", "--quiet"} & options == set())
    for type_ in ALL[name].printed:
        assert getattr(answers, type_.__name__) is type_


def test_the_reference_is_what_the_code_says():
    assert FILE.read_text(encoding="utf-8") == page(), "docs/cli.md is stale: run python -m tools.cli_reference"


# A command of each on a store, without the switch; those of keys, proposals and routing are in the tests of theirs.
ANSWERED = {
    "sessions": ("{store}",),
    "show": ("{store}",),
    "recall": ("{store}", "result"),
    "page show": ("{store}", "p2"),
    "context": ("{store}",),
    "why": ("{store}", "p2", "p3"),
    "diff": ("{store}",),
    "summarize": ("{store}",),
    "doctor": ("{store}",),
    "vacuum": ("{store}",),
    "retain": ("{store}", "--older-than", "90d"),
    "backup": ("{store}", "{folder}/copy.db"),
    "restore": ("{store}", "{folder}/new.db"),
    "pack": ("{store}", "{folder}/packed"),
    "import": ("{store}", "--into", "{folder}/other.db"),
    "compactions": ("{store}",),
    "replay": ("{store}", "--policy", "everything", "--policy", "legacy"),
    "keys create": ("{store}", "--scope", "team"),
    "keys list": ("{store}",),
    "proposals list": ("{store}",),
    "route stats": ("{store}",),
    "route report": ("{store}",),
    "route replay": ("{store}",),
    "route prune": ("{store}", "--days", "1"),
    "trial": ("--model", "claude-sonnet-5", "--dry-run", "--count", "1", "--out", "{folder}/trial.jsonl"),
    "mcp uninstall": ("--client", "codex", "--yes"),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_json_is_one_line_of_the_documented_form(name, path, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    words = [word.format(store=path, folder=tmp_path) for word in ANSWERED[name]]
    done = run(*name.split(), *words, "--json")
    assert done.stdout.count("\n") == 1, (done.stdout, done.stderr)
    found = from_json(ALL[name].printed[0], done.stdout.encode())
    assert json.loads(to_json(found)) == json.loads(done.stdout)
    assert "\x1b" not in done.stdout


def test_results_are_compared_and_reported_as_json_too(path, tmp_path):
    results, page = str(tmp_path / "results.jsonl"), str(tmp_path / "report.html")
    run("replay", path, "--policy", "everything", "--policy", "legacy", "--out", results)
    (pool,) = from_json(answers.Comparison, run("flip", results, "--json").stdout.encode()).pools
    assert {method.policy for method in pool.methods} == {"everything", "legacy"}
    assert pool.elected == "legacy"
    (written,) = from_json(answers.FilesWritten, run("report", results, "--out", page, "--json").stdout.encode()).files
    assert (written.file, written.bytes) == (page, len(Path(page).read_bytes()))


def test_a_session_is_unpacked_under_its_name(path, tmp_path):
    packed, other = str(tmp_path / "packed"), str(tmp_path / "other.db")
    written = from_json(answers.FileWritten, run("pack", path, packed, "-s", "log", "--json").stdout.encode())
    assert (written.session, written.bytes) == ("login-bug", Path(packed).stat().st_size)
    unpacked = from_json(answers.SessionUnpacked, run("unpack", packed, other, "--json").stdout.encode())
    assert unpacked == answers.SessionUnpacked(other, "login-bug")


ACTING = [name for name in ANSWERED if ALL[name].acts and name != "keys create"]  # whose key nobody can show again


@pytest.mark.parametrize("name", ACTING)
def test_a_quiet_command_that_acts_prints_nothing(name, path, tmp_path, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    words = [word.format(store=path, folder=tmp_path) for word in ANSWERED[name]]
    loud, quiet = run(*name.split(), *words), run(*name.split(), *_other_files(words), "--quiet")
    assert loud.stdout + loud.stderr
    assert quiet.stdout == ""
    assert quiet.stderr.splitlines() == [line for line in loud.stderr.splitlines() if quiet.returncode]


def _other_files(words):
    """The same words, writing to files that do not exist yet."""
    return [f"{word}-2" if word.endswith(("copy.db", "new.db", "packed")) else word for word in words]


def test_a_quiet_list_is_the_list_without_hints(path):
    loud, quiet = run("vacuum", path), run("show", path, "--quiet")
    assert loud.returncode == quiet.returncode == 0
    assert "login" not in quiet.stderr
    assert "p2-" in quiet.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("show",), "pageturn show: Missing argument 'STORE'; see `pageturn show --help`"),
        (("dmeo",), "pageturn: No such command 'dmeo'"),
        (("sessions", "a.db", "--jsn"), "pageturn sessions: No such option '--jsn'"),
        (("keys", "revoke", "a", "b", "c"), "pageturn keys revoke: expected [STORE] ID, got 3 arguments"),
    ],
)
def test_a_wrong_command_line_is_one_line_with_a_hint(words, told):
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == 1
    assert "--help`" in done.stderr


@pytest.mark.parametrize("command", ["flip", "report"])
def test_a_store_instead_of_results_is_told_apart(command, path):
    done = run(command, path)
    assert done.returncode == 1
    assert "which is a store; run that command first" in done.stderr
    assert f"pageturn replay {path} --out results.jsonl" in done.stderr


@pytest.mark.parametrize(
    ("shell", "words"), [("zsh", "#compdef pageturn"), ("fish", "complete --no-files --command pageturn")]
)
def test_completion_prints_the_script_of_a_shell(shell, words):
    done = run("completion", shell)
    assert done.returncode == 0
    assert words in done.stdout


def test_completion_completes_session_ids_of_the_typed_store(path):
    found = ShellComplete(cli, {}, "pageturn", "_PAGETURN_COMPLETE").get_completions(["show", path, "--session"], "log")
    assert [each.value for each in found] == ["login-bug"]
    missing = ShellComplete(cli, {}, "pageturn", "_X").get_completions(["show", f"{path}.none", "--session"], "")
    assert missing == []
