"""The scripted provider: it solves its own task, it refuses what it should, and its cache and its bill are right."""

import json

import pytest

from tests.clients.agent import Agent, Refused
from tests.clients.caching import ANTHROPIC, Cache
from tests.clients.model import decide
from tests.clients.provider import Fault, provider
from tests.clients.views import Entry, Tool, View
from tests.clients.walk import code_of, furthest, walk, wanted
from tests.clients.wires import WIRES
from tests.clients.wires.parts import Unit

PATHS = list(WIRES)


@pytest.fixture
def upstream():
    with provider() as state:
        yield state


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("path", PATHS)
def test_an_agent_that_sends_all_of_its_history_solves_the_task(upstream, work, path):
    task = walk(3, 24, size=600)
    task.write(work)
    assert Agent(upstream.url, path, work).run(task.prompt) == f"The product is {task.answer}."
    assert task.is_solved(work)
    assert upstream.refused == []
    assert len(upstream.steps) > 20
    assert any(len(turn.said.calls) == 2 for turn in upstream.turns)  # two at once


BASH = Tool("bash", "", {"properties": {"command": {"type": "string"}}, "required": ["command"]})
RECALL = Tool("recall", "", {"properties": {"query": {"type": "string"}}})
FOUND = Entry(
    "result", "<page>\np8-bven tool, 5,354 bytes, an excerpt\nPAGE 2 OF 20: jade-ladder 417916 cache ...\n</page>"
)
HERE = Entry("result", "PAGE 9 OF 20: amber-anchor\nNEXT: read pages/(the code of jade-ladder ).txt.\n")
FACT = Entry("result", "PAGE 2 OF 20: jade-ladder\ncode(jade-ladder) = 0123abcd\nNEXT: read pages/x.txt.\n")


@pytest.mark.parametrize(
    ("tools", "entries", "does"),
    [
        ([BASH], [FACT, HERE], {"command": "cat pages/0123abcd.txt"}),
        ([BASH], [HERE, FACT], {"command": "cat pages/0123abcd.txt"}),  # a page that was recalled is not where we are
        ([BASH], [HERE], {"command": "grep -rhF 'code(jade-ladder) =' pages"}),
        ([BASH, RECALL], [HERE], {"query": "code(jade-ladder)"}),
        (
            [BASH, RECALL],
            [HERE, Entry("call", '{"query": "code(jade-ladder)"}', "recall"), Entry("result", "nothing was found")],
            {"command": "grep -rhF 'code(jade-ladder) =' pages"},
        ),
        (
            [BASH, RECALL],
            [HERE, Entry("call", '{"query": "code(jade-ladder)"}', "recall"), FOUND],
            {"handle": "p8-bven"},
        ),
    ],
)
def test_what_the_model_does_depends_on_what_it_reads(tools, entries, does):
    """So that a gateway which loses pages is seen: what is gone must be recalled, or searched again."""
    (call,) = decide(View({tool.name: tool for tool in tools}, entries)).calls
    assert call.arguments == does


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
def test_reasoning_behind_a_changed_history_is_refused_and_counted(upstream, work, path):
    task = walk(3, 12, size=600)
    task.write(work)
    agent = Agent(upstream.url, path, work)
    agent.run(task.prompt)
    agent.history[0]["content"] = "Something else."
    with pytest.raises(Refused, match="prefix_changed"):
        agent.run("Go on.")
    assert len(upstream.refused) == 1


@pytest.mark.parametrize("path", PATHS)
def test_a_request_that_the_vendor_would_refuse_is_refused_and_counted(upstream, work, path):
    agent = Agent(upstream.url, path, work)
    orphan = {
        "/v1/messages": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "y"}]},
        "/v1/chat/completions": {"role": "tool", "tool_call_id": "x", "content": "y"},
        "/v1/responses": {"type": "function_call_output", "call_id": "x", "output": "y"},
    }
    agent.history.append(orphan[path])
    with pytest.raises(Refused, match="400"):
        agent.run("Hello.")
    assert len(upstream.refused) == 1


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("fault", [Fault(429, retry_after=2), Fault(529), Fault(is_too_long=True), Fault(cut=0.5)])
def test_faults_happen_once_and_where_they_are_asked_for(upstream, work, path, fault):
    task = walk(3, 12, size=300)
    task.write(work)
    upstream.faults = {3: fault}
    agent = Agent(upstream.url, path, work)
    with pytest.raises((Refused, OSError, Exception)) as error:
        agent.run(task.prompt)
    assert len(upstream.steps) == (4 if fault.cut else 3)
    if fault.status != 200:
        assert str(fault.status) in str(error.value)
    assert upstream.faults == {}


def test_usage_adds_up_and_what_was_read_before_is_read_from_the_cache(upstream, work):
    task = walk(3, 12, size=4_000)
    task.write(work)
    Agent(upstream.url, "/v1/messages", work).run(task.prompt)
    first, *_, last = upstream.turns
    assert first.used.read == 0
    assert last.used.read > 0.9 * last.used.input
    assert all(
        now.used.read >= before.used.input * 0.9
        for before, now in zip(upstream.turns[1:], upstream.turns[2:], strict=False)
    )
    told = json.loads(upstream.turns[-1].wire.events(1, last.said, last.used, last.body)[0].partition(b"data: ")[2])
    usage = told["message"]["usage"]
    assert (
        usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
        == last.used.input
    )


def unit(text, mark=None):
    return Unit(text * 4_096, mark)  # 1,024 tokens a letter


def test_a_cache_keeps_prefixes_at_breakpoints_only_and_for_as_long_as_they_say():
    now = [0.0]
    cache = Cache(lambda: now[0])
    first = [unit("a", "1h"), unit("b"), unit("c", "5m")]
    assert cache.marked("m", first) == (0, 0, 2_048, 1_024, 0)
    assert cache.marked("m", first) == (0, 3_072, 0, 0, 0)
    assert cache.marked("m", [*first[:2], unit("d", "5m")]) == (0, 1_024, 2_048, 0, 0)  # nothing was kept at b
    assert cache.marked("m", [*first, unit("e")]) == (1_024, 3_072, 0, 0, 0)
    assert cache.marked("other", first).read == 0
    now[0] = 301.0
    assert cache.marked("m", first) == (0, 1_024, 2_048, 0, 0)  # the hour is not over, the five minutes are
    now[0] = 301.0 + 3_601.0
    assert cache.marked("m", first).read == 0


def test_a_breakpoint_looks_back_twenty_blocks_and_no_further():
    for blocks, is_found in ((19, True), (20, False)):
        cache = Cache(lambda: 0.0)
        cache.marked("m", [unit("a", "5m")])
        later = [
            unit("a"),
            *(Unit(f"{at}") for at in range(blocks)),
        ]
        later[-1] = later[-1]._replace(mark="5m")
        assert bool(cache.marked("m", later).read) is is_found


def test_short_prefixes_are_not_kept():
    cache = Cache(lambda: 0.0)
    for _ in range(2):
        assert cache.marked("m", [Unit("a" * 4_000, "5m")]) == (1_000, 0, 0, 0, 0)
        assert cache.automatic("m", [Unit("a" * 4_000)]) == (1_000, 0, 0, 0, 0)


def test_an_automatic_cache_goes_by_steps_of_the_prefix():
    cache = Cache(lambda: 0.0)
    assert cache.automatic("m", [unit("a"), unit("b")]).read == 0
    assert cache.automatic("m", [unit("a"), unit("b"), unit("c")]) == (1_024, 2_048, 0, 0, 0)
    assert cache.automatic("m", [unit("a"), Unit("b" * 2_100), unit("c")]).read == 1_024 + 512
    assert cache.automatic("m", [unit("z"), unit("b")]).read == 0


def test_the_bill_is_by_the_kind_of_token():
    assert ANTHROPIC.of(Cache(lambda: 0.0).marked("m", [unit("a", "5m")])) == pytest.approx(1_024 * 6.25e-6)


@pytest.mark.parametrize("seed", range(5))
def test_a_walk_can_be_walked(seed):
    task = walk(seed, 40, size=300)
    assert len(task.pages) == 40
    assert furthest(task.pages.values())[:2] == (39, 40)
    assert any(wanted(step.next) for step in task.steps[:-1])
    for step in task.steps:
        assert all(code_of(name, task.pages.values()) for name in wanted(step.next))
