"""A command that reads a file refuses what is none, such as a pipe, which would make it wait for ever."""

import os
import signal

import pytest

import pageturn as pt
from pageturn.apps.importing import Report, import_file
from pageturn.stores import MemoryStore
from tests.apps.cli.command import run

COMMANDS = {
    "import": ("import", "PIPE", "--into", "STORE"),
    "report": ("report", "PIPE"),
    "flip": ("flip", "PIPE"),
    "route import": ("route", "import", "STORE", "PIPE"),
    "unpack": ("unpack", "PIPE", "OTHER"),
    "restore": ("restore", "PIPE", "OTHER", "--yes"),
    "doctor": ("doctor", "PIPE"),
}


@pytest.fixture
def pipe(tmp_path):
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    return pipe


@pytest.fixture(autouse=True)
def _instead_of_waiting():
    """A test that would wait for ever fails."""

    def fail(*_):
        raise AssertionError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_is_refused(command, pipe, tmp_path):
    with pt.Session.open(str(tmp_path / "a.db"), id="s") as session:
        session.append(pt.user("hi"))
    names = {"PIPE": pipe, "STORE": tmp_path / "a.db", "OTHER": tmp_path / "b.db"}
    done = run(*(names.get(word, word) for word in COMMANDS[command]))
    assert done.returncode == 1
    assert any(words in done.stdout + done.stderr for words in ("expected", "not a regular file"))
    assert not (tmp_path / "b.db").exists()


def test_pipes_in_a_folder_are_left_out(pipe, tmp_path):
    (tmp_path / "log.jsonl").write_text('{"role": "user", "content": "hi"}\n')
    done = run("import", tmp_path, "--into", tmp_path / "a.db")
    assert (done.returncode, "pipe.jsonl" in done.stdout + done.stderr) == (0, False)


def test_an_import_says_what_it_expected(pipe):
    report = Report()
    import_file(MemoryStore(), pipe, report)
    assert report.failed == {pipe: "not a regular file"}
