"""The examples run as they stand, and the toys are short and pass the suites of their families."""

import runpy
import tempfile
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.policies import registry
from pageturn.stores import Maintained, Sidecars, Store, VectorStore
from pageturn.testing import Script, open_session
from tests.recall.test_meaning import Topics
from tools.examples import missing

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
TOYS = {"toy_policy": "check_policy", "toy_renderer": "check_renderer", "toy_store": "check_store"}


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path):
    if lacks := missing(path):
        pytest.skip(f"{', '.join(lacks)} not installed (make test-adapters)")
    runpy.run_path(str(path), run_name="__main__")


@pytest.mark.parametrize("name", TOYS)
def test_a_toy_is_under_sixty_lines_and_meets_the_suite_of_its_family(name):
    text = (FOLDER / f"{name}.py").read_text()
    assert len(text.splitlines()) < 60
    assert f"{TOYS[name]}(" in text


def test_a_store_needs_no_more_than_the_port_of_a_session():
    store = runpy.run_path(str(FOLDER / "dict_store.py"))["DictStore"]()
    assert isinstance(store, Store)
    assert not isinstance(store, Maintained | Sidecars | VectorStore)
    with pt.Session.open(store, id="s") as session:
        page = session.append(pt.user("The port is 8443."))
        assert [hit.handle for hit in session.recall("port").hits] == [page.handle]
    with pytest.raises(pt.InvalidInput, match="embedder: expected a store that keeps vectors"):
        pt.Session.open(store, id="s", embedder=Topics())


def test_the_loop_of_an_agent_recalls_by_itself_and_answers_every_call():
    loop = runpy.run_path(str(FOLDER / "agent_loop.py"))
    client = loop["ScriptedClient"]()
    assert loop["main"](client) == "The token's expiry is compared in the wrong unit."
    _, second, third = client.requests
    assert [tool["function"]["name"] for tool in second["tools"]] == ["bash", "recall"]
    assert "Never push to main." in str(second["messages"][0])
    assert "KeyError: 'exp'" in second["messages"][-1]["content"]
    assert "4f2a91c" in third["messages"][-1]["content"]  # what recall found


def test_the_toy_policy_keeps_what_failed():
    policy = runpy.run_path(str(FOLDER / "toy_policy.py"))["FailuresFirst"]
    script = Script(open_session(policy=policy(3_000))).begin()
    call = pt.ToolCall(id="f", name="test", arguments="{}")
    script.session.append(pt.assistant("first the tests", call))
    failed = script.session.append(pt.tool_result(call, "KeyError: 'exp'\n" * 5, is_error=True))
    script.work(20)
    levels = {page.handle: script.derive().explain(page.handle).level for page in (failed,)}
    assert levels == {failed.handle: pt.ResidencyLevel.FULL}
