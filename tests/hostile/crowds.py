"""Crowds: very many small things of one kind, which some loop may compare each with each."""

import json
from collections.abc import Callable

import pageturn as pt
from pageturn.apps.gateway.projections import projection_for
from pageturn.formats import anthropic, openai_chat
from pageturn.lab.demand import demand
from pageturn.lab.replay import Recording
from pageturn.lab.traces import Trace
from pageturn.tokens.too_long import read_overflow
from pageturn.values.messages import Thinking
from tests.hostile.entry_points import begun, call, step
from tests.hostile.operations import OPERATIONS
from tests.sessions import take_tasks

Work = Callable[[], object]


def _large() -> pt.Session:
    return begun(pt.Paged(budget_tokens=150_000))


def pins(count: int) -> Work:
    session = _large()

    def work() -> None:
        for number in range(count):
            session.pin(f"Rule {number}")
        session.derive()

    return work


def same_pins(count: int) -> Work:
    session = _large()

    def work() -> None:
        for _ in range(count):
            session.pin("Never push.")
        session.derive()

    return work


def forks(count: int) -> Work:
    """A chain of forks, each with something of its own."""

    def work() -> None:
        session = _large()
        for number in range(count):
            session = session.fork(f"f{number}")
            session.append(pt.user("x"))
        session.derive()
        assert isinstance(session.recall("login"), pt.Recalled)

    return work


def parallel_calls(count: int) -> Work:
    session = _large()
    calls = [call(number=number, command="ls") for number in range(count)]

    def work() -> None:
        session.append(pt.assistant("All at once.", *calls))
        session.derive()
        assert len(session.pending()) == count
        session.extend([pt.tool_result(each, "done") for each in calls])
        session.choose(session.reader.policy)
        session.derive()

    return work


def parts(count: int) -> Work:
    session = _large()

    def work() -> None:
        session.append(pt.user(*(f"part {number}" for number in range(count))))
        session.derive()
        session.append(pt.assistant("a"))
        session.choose(session.reader.policy)
        session.derive()

    return work


def overtaken_reasoning(count: int) -> Work:
    """Replies whose reasoning cannot be sent back, because something came before them."""
    session = _large()

    def work() -> None:
        for _ in range(count):
            session.derive(model="claude-sonnet-4-5")
            session.append(pt.user("By the way."))
            session.append(pt.assistant(Thinking(text="t", signature="abcd"), "a"))

    return work


def results_without_calls(count: int) -> Work:
    session = _large()
    session.derive()

    def work() -> None:
        for number in range(count):
            session.append(pt.tool_result(f"z{number}", f"a result that nobody asked for, number {number}"))
        session.derive()

    return work


def plans(count: int) -> Work:
    session = _large()

    def work() -> None:
        for number in range(count):
            session.plan(f"goal {number}", ["one step"])
        session.derive()

    return work


def people(count: int) -> Work:
    session = _large()

    def work() -> None:
        for number in range(count):
            session.append(pt.user(f"do {number}"))
        session.derive()

    return work


def failed_recalls(count: int) -> Work:
    session = _large()
    return lambda: [session.resolve("p9-aaaa") for _ in range(count)]


def _session_of(count: int) -> Trace:
    said = [pt.system("S"), pt.user("go")]
    for number in range(count):
        asked = call("read", number, path=f"src/part_{number}/file_{number}.py", new=f"never_said_{number}")
        said += step(asked, f"see src/part_{number + 1}/file_{number + 1}.py " + "words that fill the page " * 60)
    return Trace("s", "hostile", tuple(said))


def demanded(count: int) -> Work:
    trace = _session_of(count)
    return lambda: demand(trace)


def blocks_of_a_message(count: int) -> Work:
    """One message of very many parts, as a replay bills it."""
    calls = [call("read", number, path=f"a{number}.py") for number in range(count)]
    said = (pt.user("go"), pt.assistant("All.", *calls), *(pt.tool_result(each, "x") for each in calls))
    trace = Trace("s", "hostile", said)
    return lambda: Recording(trace)


def causes(count: int) -> Work:
    """An error that many others led to."""

    def work() -> None:
        error = ValueError("first")
        for number in range(count):
            following = ValueError(f"then {number}")
            following.__cause__ = error
            error = following
        read_overflow(error)

    return work


def task_lines(count: int) -> Work:
    session = _large()
    line = json.dumps({"type": "goal_set", "goal": "g", "forbidden": ["touch prod"]})
    return lambda: take_tasks(session, [line] * count)


def events_that_wait(count: int) -> Work:
    """An answer that only says that its provider is still there, on its way through the gateway."""
    ping = b'data: {"type": "ping"}\n\n'

    def work() -> None:
        projection = projection_for(anthropic, "recall")
        assert not b"".join(projection.feed(ping) for _ in range(count))

    return work


def pieces_of_a_recall(count: int) -> Work:
    """The same with a call of the recall tool behind it, in very many pieces."""
    opening = b'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\n'
    piece = b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "recall"}}]}}]}\n\n'

    def work() -> None:
        projection = projection_for(openai_chat, "recall")
        for event in (opening, piece):
            assert not b"".join(projection.feed(event) for _ in range(count))

    return work


CROWDS: dict[str, tuple[Callable[[int], Work], int]] = {  # with a number at which a square cannot be missed
    "pins": (pins, 400),
    "the same pin": (same_pins, 400),
    "forks": (forks, 100),
    "parallel calls": (parallel_calls, 800),
    "parts of a message": (parts, 2_000),
    "reasoning that was overtaken": (overtaken_reasoning, 150),
    "results without calls": (results_without_calls, 400),
    "plans": (plans, 300),
    "messages of people": (people, 500),
    "recalls that fail": (failed_recalls, 300),
    "what calls name": (demanded, 120),
    "parts that are billed": (blocks_of_a_message, 500),
    "causes of an error": (causes, 5_000),
    "lines of a task log": (task_lines, 2_000),
    "events that wait": (events_that_wait, 4_000),
    "pieces of a recall": (pieces_of_a_recall, 2_000),
    **OPERATIONS,
}
