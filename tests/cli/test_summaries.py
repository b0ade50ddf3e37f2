"""`pageturn summarize`, run as a user runs it."""

import pytest

import pageturn as pt
from tests.cli.test_main import run
from tests.sessions import open_session
from tests.summaries.scripted import BAD, GOOD, scripted, work


@pytest.fixture
def path(tmp_path):
    file = str(tmp_path / "agent.db")
    session = open_session(file, id="shop")
    session.append(pt.system("You are an agent."))
    work(session, 0, 8)
    session.close()
    return file


def texts(path):
    with open_session(path, id="shop") as session:
        return [session._journal.text(each.digest) for each in session._journal.state.renditions]


def test_without_a_model_the_session_is_told_in_its_own_words(path):
    done = run("summarize", path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].split() == ["pages", "tokens", "in", "short"]
    assert done.stdout.count("written") == 3
    assert "2 summaries written, 0 not" in done.stdout
    assert len(texts(path)) == 2
    assert run("summarize", path).stdout == "0 summaries written, 0 not\n"


def test_with_a_model(path):
    with scripted() as endpoint:
        done = run("summarize", path, "-s", "shop", "--url", endpoint.url, "--model", "small", "--dialect", "anthropic")
    assert (done.returncode, done.stderr) == (0, "")
    assert texts(path) == [GOOD, GOOD]
    assert endpoint.requests[0]["system"]


def test_what_is_refused_and_what_fails_is_told(path):
    with scripted() as endpoint:
        endpoint.answer = lambda number: BAD["looping"] if number == 0 else 500
        done = run("summarize", path, "--url", endpoint.url, "--model", "small")
    assert done.returncode == 1
    assert "refused: it says the same again and again" in done.stdout
    assert "backend error: summarizer: HTTP 500" in done.stdout
    assert "0 summaries written, 2 not" in done.stdout
    assert texts(path) == []


@pytest.mark.parametrize("options", [["--model", "m"], ["--url", "http://x/v1"], ["--url", "x", "--model", "m"]])
def test_half_a_model_is_refused(path, options):
    done = run("summarize", path, *options)
    assert done.returncode == 1
    assert done.stderr.startswith(("pageturn: --", "pageturn: url"))
    assert "Traceback" not in done.stderr
