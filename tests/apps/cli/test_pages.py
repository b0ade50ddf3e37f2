"""`page show`: the levels of a page are those that a context may show."""

import json

import pytest

import pageturn as pt
from tests.apps.cli.command import run
from tests.sessions import call, open_session

RULE = "Never push to main: open a pull request, and let another person read it before it is merged. " * 8
BODY = "\n".join(f"def step_{n}(value):\n    return value + {n}" for n in range(120))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with a pin that has a short form, one that has none, and a file that was read; and their handles."""
    file = str(tmp_path_factory.mktemp("levels") / "agent.db")
    session = open_session(file)
    handles = {
        "short": session.pin(RULE, structured="No pushes to main.").handle,
        "bare": session.pin(f"Be kind. {RULE}").handle,
    }
    read = call(1, "read", json.dumps({"path": "src/auth.py"}))
    session.append(pt.assistant(read))
    handles["file"] = session.append(pt.tool_result(read, BODY)).handle
    session.close()
    return file, handles


def levels_of(store, name, *options):
    """What is printed at each level, and the levels that are refused."""
    file, handles = store
    shown = run("page", "show", file, handles[name], *options)
    assert shown.returncode == 0
    heads = [line.split(",")[0] for line in shown.stdout.splitlines() if " tokens, " in line]
    refused = [line.split()[0] for line in shown.stdout.splitlines() if "is not offered" in line]
    return heads, refused, shown.stdout


def test_a_pin_is_shown_in_the_short_form_that_its_author_gave(store):
    shown, refused, text = levels_of(store, "short")
    assert shown == ["full", "structured"]
    assert refused == ["compressed", "pointer"]
    assert "No pushes to main." in text
    assert levels_of(store, "short", "--level", "structured")[2].splitlines()[1:] == ["No pushes to main."]


def test_a_page_is_counted_as_by_the_model_of_its_session(tmp_path):
    counts = []
    for model in ("gpt-5", "claude-opus-4-6"):
        file = str(tmp_path / f"{model}.db")
        session = open_session(file, model=model)
        handle = session.append(pt.user(BODY)).handle
        session.close()
        shown = run("page", "show", file, handle, "--level", "full").stdout.splitlines()[0]
        counts.append(shown)
        assert shown == f"full, {session.reader.pages()[-1].tokens:,} tokens, 100%"
    assert len(set(counts)) == 2


def test_a_pin_without_a_short_form_is_shown_whole_alone(store):
    assert levels_of(store, "bare")[:2] == (["full"], ["compressed", "structured", "pointer"])


def test_a_result_is_shown_with_its_call_at_every_level(store):
    shown, refused, text = levels_of(store, "file")
    assert (shown, refused) == (["full", "compressed", "structured", "pointer"], [])
    assert "read src/auth.py" in text.partition("structured, ")[2]
