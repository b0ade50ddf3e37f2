"""`pageturn summarize`, run as a user runs it."""

import pytest

import pageturn as pt
from tests.apps.cli.command import run
from tests.sessions import open_session
from tests.writeback.summaries.scripted import BAD, GOOD, scripted, work


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
        return [session.reader.text(each.digest) for each in session.reader.renditions]


def test_without_a_model_summaries_are_extracted_from_the_text(path):
    done = run("summarize", path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].split() == ["pages", "tokens", "summary"]
    assert done.stdout.count("written") == 3
    assert "2 of 2 summaries written" in done.stdout
    assert len(texts(path)) == 2
    assert run("summarize", path).stdout == "0 of 0 summaries written\n"


def test_with_a_model(path):
    with scripted() as endpoint:
        done = run("summarize", path, "-s", "shop", "--url", endpoint.url, "--model", "small", "--dialect", "anthropic")
    assert (done.returncode, done.stderr) == (0, "")
    assert texts(path) == [GOOD, GOOD]
    assert endpoint.requests[0]["system"]


def test_rejected_and_failed_summaries_are_reported(path):
    with scripted() as endpoint:
        endpoint.answer = lambda number: BAD["looping"] if number == 0 else 500
        done = run("summarize", path, "--url", endpoint.url, "--model", "small")
    assert done.returncode == 1
    assert "rejected: it repeats itself" in done.stdout
    assert "backend error: summarizer: HTTP 500" in done.stdout
    assert "0 of 2 summaries written" in done.stdout
    assert texts(path) == []


@pytest.mark.parametrize("options", [["--model", "m"], ["--url", "http://x/v1"], ["--url", "x", "--model", "m"]])
def test_half_a_model_is_refused(path, options):
    done = run("summarize", path, *options)
    assert done.returncode == 1
    assert done.stderr.startswith(("pageturn: --", "pageturn: url"))
    assert "Traceback" not in done.stderr
