"""A scripted provider on a loopback port: strict, with a model that reads, a cache, a bill, and faults on demand.

It refuses what the vendor would refuse and counts it. Which earlier requests a conversation has is known by the marks that came back:
ids of calls and signatures are its own. So reasoning is checked without any word of whoever stands between.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

from tests.apps.gateway.upstream import Asked, Reply, upstream
from tests.clients.caching import ANTHROPIC, OPENAI, Cache, tokens
from tests.clients.model import decide, is_summary_wanted
from tests.clients.views import Said, Used, View
from tests.clients.wires import WIRES, anthropic
from tests.clients.wires.parts import arguments_of

_MOST_CALLS = 2_000  # of one provider; a client that runs in circles is stopped


class Fault(NamedTuple):
    """What goes wrong with one call."""

    status: int = 200
    retry_after: int | None = None
    cut: float | None = None  # after which part of the answer the connection breaks
    is_too_long: bool = False
    times: int = 1  # in a row


class Turn(NamedTuple):
    """A call that was answered."""

    wire: ModuleType
    body: dict[str, Any]
    view: View
    said: Said
    used: Used
    size: int  # of the body, in bytes
    is_side: bool  # a title, a summary: no step of the walk
    marks: list[str]
    is_whole: bool = True  # else the answer was cut


class Provider:
    """What one provider was asked, and what it answered."""

    def __init__(self, decide: Callable[[View], Said] = decide) -> None:
        self.url = ""
        self.turns: list[Turn] = []
        self.refused: list[str] = []  # why, of each request
        self.others: Counter[str] = Counter()  # what came to other paths
        self.faults: dict[int, Fault] = {}  # by the number of the step at which they happen, once
        self.asked: list[Asked] = []  # all that came, where it is kept
        self.keeps = False
        self.window = 1_000_000
        self.forgiven: tuple[str, ...] = ()  # rules that do not hold here, with the place where that matters
        self.forgiven_in_steps: tuple[
            str, ...
        ] = ()  # and those that hold where a client asks for a summary, but not in its steps
        self._decide = decide
        self._cache = Cache()
        self._made: dict[str, int] = {}  # the request of each mark
        self._bodies: list[dict[str, Any]] = []

    @property
    def steps(self) -> list[Turn]:
        """The calls that are steps of the walk."""
        return [turn for turn in self.turns if not turn.is_side]

    @property
    def used(self) -> Used:
        return Used(*(sum(turn.used[at] for turn in self.turns) for at in range(len(Used._fields))))

    @property
    def dollars(self) -> float:
        return sum((ANTHROPIC if turn.wire is anthropic else OPENAI).of(turn.used) for turn in self.turns)

    def answer(self, asked: Asked) -> Reply:
        """Answer a request as the vendor would."""
        if self.keeps:
            self.asked.append(asked)
        path = asked.target.partition("?")[0]
        wire = WIRES.get(path)
        if wire is None or asked.method != "POST":
            return self._other(asked, path)
        body = json.loads(asked.body)
        view = wire.view(body)
        is_side = not view.tools or is_summary_wanted(view)
        fault = self._fault() if not is_side else Fault()
        if fault.status != 200:
            return _refused(wire, fault.status, "scripted", fault.retry_after)
        size = sum(tokens(unit.content) for unit in wire.units(body))
        if fault.is_too_long or size > self.window:
            return _refused(wire, 400, wire.TOO_LONG.format(size, min(self.window, size - 1)))
        found = wire.problems(body, previous=self._lineage(wire, body), whole=True)
        forgiven = self.forgiven if is_summary_wanted(view) else self.forgiven + self.forgiven_in_steps
        if problems := [each for each in found if not f"{each.code} {each.path}".startswith(forgiven)]:
            self.refused.append(f"{path}: {'; '.join(map(str, problems[:3]))}")
            return _refused(wire, 400, str(problems[0]))
        if len(self.turns) >= _MOST_CALLS:
            return _refused(wire, 400, "this has gone on for too long")
        return self._told(asked, wire, body, view, fault, is_side=is_side)

    def _fault(self) -> Fault:
        """What goes wrong with this step."""
        fault = self.faults.pop(at := len(self.steps), Fault())
        if fault.times > 1:
            self.faults[at] = fault._replace(times=fault.times - 1)
        return fault

    def _told(
        self, asked: Asked, wire: ModuleType, body: dict[str, Any], view: View, fault: Fault, *, is_side: bool
    ) -> Reply:
        said = self._decide(view)
        said = said if view.thinks else said._replace(thinking="")
        number = len(self._bodies)
        self._bodies.append(body)
        marks = wire.marks(number, said)
        self._made |= dict.fromkeys(marks, number)
        used = self._billed(wire, body, said)
        self.turns.append(
            Turn(wire, body, view, said, used, len(asked.body), is_side, marks, is_whole=fault.cut is None)
        )
        headers = [("content-type", "text/event-stream; charset=utf-8"), ("request-id", f"req_{number:06d}")]
        if body.get("stream"):
            pieces = wire.events(number, said, used, body)
            if fault.cut is not None:
                return Reply(pieces[: max(int(len(pieces) * fault.cut), 1)], headers=headers, is_cut=True)
            return Reply(pieces, headers=headers)
        headers[0] = ("content-type", "application/json")
        return Reply([json.dumps(wire.answer(number, said, used, body)).encode()], headers=headers, is_chunked=False)

    def _billed(self, wire: ModuleType, body: dict[str, Any], said: Said) -> Used:
        bill = self._cache.marked if wire is anthropic else self._cache.automatic
        written = said.text + said.thinking + "".join(arguments_of(call.arguments) for call in said.calls)
        return bill(f"{wire.__name__} {body.get('model')}", wire.units(body))._replace(output=tokens(written))

    def _lineage(self, wire: ModuleType, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The earlier requests of this conversation: those whose answers came back."""
        numbers = {self._made[mark] for mark in wire.made(body) if mark in self._made}
        return [self._bodies[number] for number in sorted(numbers)]

    def _other(self, asked: Asked, path: str) -> Reply:
        self.others[f"{asked.method} {path}"] += 1
        headers = [("content-type", "application/json")]
        if path.endswith("/count_tokens"):
            count = sum(tokens(unit.content) for unit in anthropic.units(json.loads(asked.body)))
            return Reply([json.dumps({"input_tokens": count}).encode()], headers=headers, is_chunked=False)
        if path.endswith("/models"):
            return Reply([b'{"object": "list", "data": []}'], headers=headers, is_chunked=False)
        status = 426 if asked.header("upgrade") else 404
        return Reply([b'{"error": {"message": "not spoken here"}}'], status, headers, is_chunked=False)


def _refused(wire: ModuleType, status: int, message: str, retry_after: int | None = None) -> Reply:
    headers = [("content-type", "application/json")]
    if retry_after is not None:
        headers.append(("retry-after", str(retry_after)))
    return Reply([json.dumps(wire.refusal(status, message)).encode()], status, headers, is_chunked=False)


@contextmanager
def provider(decide: Callable[[View], Said] = decide) -> Iterator[Provider]:
    """A provider that listens on a port of its own."""
    state = Provider(decide)
    with upstream() as server:
        state.url = server.url
        server.answer = state.answer
        yield state
