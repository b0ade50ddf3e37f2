"""Sweeps: the same bytes whoever does the work, and nothing twice."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import pageturn as pt
from pageturn.lab.results import Result
from pageturn.lab.sweep import METHODS, Method, Setup, sweep
from pageturn.lab.synthetic_coding import coding_session
from pageturn.lab.traces import Trace

TRACES = [coding_session(seed, 12) for seed in (1, 2, 3)]
SETUP = Setup(
    tuple(map(Method.parse, ("paged", "paged:miss_tokens=5000", "legacy", "keep-last"))), (1_500, 4_000), lookahead=1
)


def results(lines):
    return [pt.from_json(Result, line) for session in lines for line in session]


@pytest.fixture(scope="module")
def lines():
    return list(sweep(TRACES, SETUP))


def test_there_is_a_result_of_every_session_way_and_budget(lines):
    keys = [result.key for result in results(lines)]
    assert keys == [key for trace in TRACES for key in SETUP.keys(trace)]
    assert len(set(keys)) == 3 * 5 * 2


def test_a_second_run_gives_the_same_bytes_and_so_do_other_workers(lines):
    assert list(sweep(TRACES, SETUP)) == lines
    with ThreadPoolExecutor(2) as threads:
        assert list(sweep(iter(TRACES), SETUP, threads, workers=2)) == lines
    with ProcessPoolExecutor(2) as processes:
        assert list(sweep(TRACES, SETUP, processes, workers=2)) == lines


def test_what_is_known_is_not_done_again(lines):
    done = results(lines)
    known = frozenset(result.key for result in done[:7])
    again = list(sweep(TRACES, SETUP, known=known))
    assert [line for session in again for line in session] == [line for session in lines for line in session][7:]
    assert list(sweep(TRACES, SETUP, known=frozenset(result.key for result in done))) == [[], [], []]


def test_sessions_are_streamed():
    drawn = []

    def drawing():
        for seed in range(30):
            drawn.append(seed)
            yield Trace(str(seed), "synthetic", (pt.user("hello"), pt.assistant("hello")))

    small = Setup((Method.parse("paged"),), (1_000,))
    with ThreadPoolExecutor(1) as one:
        next(sweep(drawing(), small, one, workers=1))
    assert len(drawn) <= 4


def test_the_settings_and_the_gap_are_written_down(lines):
    by_policy = {result.policy: result for result in results(lines)}
    assert by_policy["paged:miss_tokens=5000"].settings == {
        "policy": "paged",
        "budget_tokens": 4_000,
        "miss_tokens": 5_000,
    }
    assert by_policy["keep-last"].settings == {}
    for result in results(lines):
        assert result.oracle is not None
        assert result.oracle.missed == result.score.missed
        assert result.oracle.bound <= result.oracle.oracle_missed <= result.oracle.missed
    assert any(result.oracle.gap > 0 for result in results(lines))
    assert all(result.oracle.gap == 0 for result in results(lines) if result.policy == "oracle, 1 ahead")


@pytest.mark.parametrize(
    "text", ["nobody", "paged:miss_tokens", "paged:nothing=1", "paged:miss_tokens=-7", "keep-last:n=3", "legacy:a=1"]
)
def test_a_way_that_there_is_not_is_refused(text):
    with pytest.raises(pt.InvalidInput, match="policy"):
        Method.parse(text).policy(1)


@pytest.mark.parametrize("name", METHODS)
def test_every_way_shows_something(name):
    shown = list(Method.parse(name).shows(2_000, Setup((), ()).counting())(TRACES[0]))
    assert len(shown) == len(TRACES[0].turns)


def test_a_models_own_tokens_can_be_counted_but_not_by_all():
    setup = Setup((Method.parse("paged"),), (3_000,), counter="gpt-5")
    found = results(sweep(TRACES[:1], setup))
    assert found[0].counter == setup.counting().name != "chars/4"
    with pytest.raises(pt.InvalidInput, match="counts characters"):
        list(sweep(TRACES[:1], setup._replace(methods=(Method.parse("cut"),))))


def read_twice():
    """A file is read, twelve others follow, and it is read again, unchanged."""

    def read(id, path, line):
        call = pt.ToolCall(id=id, name="read", arguments=pt.to_json({"path": path}).decode())
        return pt.assistant(call), pt.tool_result(call, "\n".join(line.format(number) for number in range(60)))

    config = "line {} of the configuration, which nobody ever reads whole"
    others = [read(f"c{at}", f"src/other_{at}.py", f"def function_{at}_{{}}(): ...") for at in range(12)]
    reads = [read("first", "src/config.py", config), *others, read("again", "src/config.py", config)]
    return Trace("t", "s", (pt.user("go"), *(message for pair in reads for message in pair), pt.assistant("done")))


@pytest.mark.parametrize("method", ["paged", "legacy", "reset", "incremental", "keep-last"])
def test_a_page_that_is_read_again_after_it_left_is_a_fault_whoever_let_it_go(method):
    """The flip rule's faults: our policies and what others do are counted alike, also where a pointer leads back."""
    small, large = results(sweep([read_twice()], Setup((Method.parse(method),), (3_000, 50_000))))
    assert small.faults == {"duplicate_tool": 1}
    assert (small.policy_faults, large.policy_faults) == (1, 0)
    assert small.turns[-2].faults == {"duplicate_tool": 1}  # at the turn that reads it again
