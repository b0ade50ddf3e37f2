"""`pageturn import`, run as a user runs it."""

import json
import os
import shutil
import sqlite3
import subprocess

import pytest

from tests.apps.cli.test_main import PAGETURN
from tests.apps.importing.taking import SAMPLES


@pytest.fixture
def run(tmp_path):
    """Run a command in a folder of its own, with a home that is empty."""
    home = tmp_path / "home"
    home.mkdir()

    def run(*arguments, **more):
        kept = {name: value for name, value in os.environ.items() if name not in ("CLAUDE_CONFIG_DIR", "CODEX_HOME")}
        environment = {**kept, "HOME": str(home), "COLUMNS": "300", **more}
        command = [PAGETURN, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
        assert "Traceback" not in done.stderr
        return done

    return run


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


def exported(run, store, session):
    return [json.loads(line) for line in run("export", store, "-s", session).stdout.splitlines()]


def test_a_folder_is_imported(run, logs):
    for name in ("pi.jsonl", "gemini_cli.json"):
        shutil.copy(SAMPLES / name, logs)
    done = run("import", "logs", "--into", "mine.db")
    assert (done.returncode, done.stderr) == (0, "")
    shown = done.stdout.splitlines()
    assert sorted(shown[0].removeprefix("files: ").split(", ")) == ["1 gemini-cli", "1 pi"]
    assert shown[1] == "2 sessions, 14 messages with 6 calls and 5 results"
    assert shown[2] == "1 compactions by the other tool"
    assert "thinking_level_change" in done.stdout
    assert "logs/pi.jsonl:5" in done.stdout
    assert "pageturn sessions mine.db" in done.stdout
    assert "kite-v1" in run("sessions", "mine.db").stdout
    assert [message["role"] for message in exported(run, "mine.db", "kite-v1")][:3] == ["user", "assistant", "tool"]
    assert run("doctor", "mine.db").returncode == 0


def test_a_file_is_imported_into_the_usual_store_and_only_once(run, tmp_path):
    first = run("import", SAMPLES / "pi.jsonl")
    assert first.returncode == 0
    assert (tmp_path / "pageturn.db").exists()
    again = run("import", SAMPLES / "pi.jsonl")
    assert again.returncode == 0
    assert "0 messages with 0 calls and 0 results; 8 already imported" in again.stdout
    assert len(exported(run, "pageturn.db", "kite-v1")) == 8


def test_an_unknown_file_that_was_named_is_an_error(run, logs):
    (logs / "letter.json").write_text('{"dear": "reader"}')
    done = run("import", "logs/letter.json", SAMPLES / "pi.jsonl")
    assert done.returncode == 1
    assert "pageturn: logs/letter.json: not a recorded session of a known tool" in done.stderr.splitlines()
    assert "1 session, 8 messages" in done.stdout  # the other one was taken


def test_a_file_that_is_not_there_is_an_error(run):
    done = run("import", "missing.jsonl")
    assert done.returncode == 1
    assert "pageturn: missing.jsonl: No such file or directory" in done.stderr.splitlines()


def test_unknown_files_inside_a_folder_are_counted(run, logs):
    shutil.copy(SAMPLES / "pi.jsonl", logs)
    (logs / "letter.json").write_text('{"dear": "reader"}')
    (logs / "list.json").write_text("[]")
    (logs / "notes.md").write_text("hello")
    done = run("import", "logs")
    assert done.returncode == 0
    skipped = {tuple(line.split(maxsplit=1)) for line in done.stdout.splitlines()}
    assert ("2", "file: not a recorded session of a known tool  logs/letter.json") in skipped
    assert any(each[0] == "1" and each[1].startswith("file with ending .md ") for each in skipped if len(each) == 2)


@pytest.mark.parametrize(
    ("option", "variable", "inside", "sample"),
    [
        ("--claude-code", "CLAUDE_CONFIG_DIR", "projects/-home-ada-bees", "claude_code.jsonl"),
        ("--codex", "CODEX_HOME", "sessions/2026/03/02", "codex.jsonl"),
    ],
)
def test_what_a_tool_has_recorded_is_found(run, tmp_path, option, variable, inside, sample):
    folder = tmp_path / "config" / inside
    folder.mkdir(parents=True)
    shutil.copy(SAMPLES / sample, folder)
    done = run("import", option, **{variable: str(tmp_path / "config")})
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == f"files: 1 {option.removeprefix('--')}"


@pytest.mark.parametrize(
    ("option", "inside", "sample"),
    [
        ("--claude-code", ".claude/projects/x", "claude_code.jsonl"),
        ("--codex", ".codex/sessions/x", "codex.jsonl"),
    ],
)
def test_a_tool_is_looked_for_at_home(run, tmp_path, option, inside, sample):
    folder = tmp_path / "home" / inside
    folder.mkdir(parents=True)
    shutil.copy(SAMPLES / sample, folder)
    assert run("import", option).stdout.splitlines()[0] == f"files: 1 {option.removeprefix('--')}"


def test_a_tool_that_has_recorded_nothing_is_reported_in_plain_words(run):
    done = run("import", "--claude-code")
    assert "files: none" in done.stdout
    assert "a file that is No such file or directory" not in done.stdout


def test_nothing_to_import_is_a_usage_error(run, tmp_path):
    done = run("import")
    assert done.returncode == 2
    assert "give files or folders, --claude-code or --codex" in done.stderr
    assert not (tmp_path / "pageturn.db").exists()


def test_the_file_of_another_program_is_left_alone(run, tmp_path):
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    before = other.read_bytes()
    done = run("import", SAMPLES / "pi.jsonl", "--into", "other.db")
    assert done.returncode == 1
    assert done.stderr.startswith("pageturn: ")
    assert done.stderr.count("\n") == 1
    assert other.read_bytes() == before


@pytest.mark.parametrize(
    "name",
    [
        "[/x].jsonl",
        "[red]x[/red].jsonl",
        "x[bold].jsonl",
    ],
)
def test_names_with_brackets_are_shown_as_they_are(run, logs, name):
    names = name.rsplit("/", 1)
    folder = logs.joinpath(*names[:-1])
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(SAMPLES / "pi.jsonl", folder / names[-1])
    done = run("import", "logs", "--into", "[mine].db")
    assert done.returncode == 0
    assert f"logs/{name}:5" in done.stdout
    assert "pageturn sessions [mine].db" in done.stdout
    (folder / names[-1]).write_text("no log")
    wrong = run("import", f"logs/{name}")
    assert wrong.returncode == 1
    assert f"pageturn: logs/{name}: not a recorded session of a known tool" in wrong.stderr.splitlines()


def test_every_reason_is_listed_when_it_is_asked_for(run, logs):
    for number in range(14):
        (logs / f"other.x{number:02}").write_text("no log")
    short, whole = run("import", "logs"), run("import", "logs", "--all-reasons")
    assert "--all-reasons lists them" in short.stdout
    assert "--all-reasons" not in whole.stdout
    assert all(f"file with ending .x{number:02}" in whole.stdout for number in range(14))
    told = json.loads(run("import", "logs", "--json").stdout)
    assert {f"file with ending .x{number:02}" for number in range(14)} <= {each["reason"] for each in told["skipped"]}
