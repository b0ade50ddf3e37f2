"""The walk of one turn: which rooms of the package are entered, in which order, by append, derive, dump, load_reply and append.

    python -m tools.walk

A room is a folder of src/pageturn, or session.py. Calls go down the layers of pyproject.toml and return. A call from a lower room into
a higher one can only come by a function or an iterator that was passed down. Those are listed, and one that is not known yet fails.
"""

import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pageturn as pt
from pageturn.formats import openai_chat
from pageturn.testing import Script, open_session

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "pageturn"
BUDGET = 3_000
PASSED_DOWN = {  # what calls up, into which room, and why that is so
    (
        "journal.paging",
        "session",
    ): "ids and times come from the clock and the random source that the session was opened with",
    ("context.derive", "session"): "the counter of a model: the host may bring its own",
    ("values.units", "context"): "pages one by one, grouped by a function of the caller",
}


def layers() -> list[list[str]]:
    """The rooms from top to bottom, as the contract of pyproject.toml has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return [layer.split(" | ") for layer in contracts[0]["layers"] if layer != "__main__"]


class Entry(NamedTuple):
    """The first time that a room is entered: by which function of it, and from where."""

    room: str
    function: str
    caller: str


class Ascent(NamedTuple):
    """A call from a room into one above it, or beside it: what called, and what was called."""

    caller: str
    callee: str

    def __str__(self) -> str:
        return f"{self.caller} -> {self.callee}"

    @property
    def kind(self) -> tuple[str, str]:
        """The module that calls, and the room that it calls into."""
        return ".".join(self.caller.split(".")[:2]), self.callee.partition(".")[0]


class Step(NamedTuple):
    """One call of the host: what it was, the rooms in the order in which they were entered, and the calls that went up."""

    name: str
    entries: tuple[Entry, ...]
    ascents: tuple[Ascent, ...]

    @property
    def rooms(self) -> tuple[str, ...]:
        """The rooms in order."""
        return tuple(entry.room for entry in self.entries)


class Walk:
    """Watches calls by `sys.setprofile`, which sees every call of a Python function and every time that a generator goes on."""

    def __init__(self) -> None:
        self._depth = {room: depth for depth, row in enumerate(layers()) for room in row}
        self._rooms: dict[CodeType, str | None] = {}

    def step(self, name: str, call: Callable[[], Any]) -> tuple[Step, Any]:
        """What a call enters, and what it gives back."""
        entries: dict[str, Entry] = {}
        ascents: dict[Ascent, None] = {}

        def watch(frame: FrameType, event: str, _: object) -> None:
            if event != "call" or (room := self._room(frame.f_code)) is None:
                return
            caller = self._caller(frame)
            if caller is None:
                entries.setdefault(room, Entry(room, _name(frame), "the host"))
                return
            came_from = self._room(caller.f_code)
            assert came_from is not None
            if room != came_from:
                entries.setdefault(room, Entry(room, _name(frame), _name(caller)))
                if self._depth[room] <= self._depth[came_from]:
                    ascents.setdefault(Ascent(_name(caller), _name(frame)))

        sys.setprofile(watch)
        try:
            result = call()
        finally:
            sys.setprofile(None)
        return Step(name, tuple(entries.values()), tuple(sorted(ascents))), result

    def _caller(self, frame: FrameType) -> FrameType | None:
        """The function of ours that this one is called by, through whatever stands between them."""
        above = frame.f_back
        while above is not None and self._room(above.f_code) is None:
            above = above.f_back
        return above

    def _room(self, code: CodeType) -> str | None:
        if code not in self._rooms:
            path = Path(code.co_filename)
            parts = path.relative_to(PACKAGE).parts if path.is_relative_to(PACKAGE) else ("",)
            room = parts[0].removesuffix(".py")
            self._rooms[code] = room if room in self._depth and room != "testing" else None
        return self._rooms[code]


def _name(frame: FrameType) -> str:
    """A function as people write it: its module below the package, and its name in it."""
    module = str(frame.f_globals["__name__"]).removeprefix("pageturn.")
    return f"{module}.{frame.f_code.co_qualname}"


def one_turn() -> Iterator[Step]:
    """The turn of a session at which a fold is due, so that every part of a derivation has something to do."""
    script = Script(open_session(policy=pt.Paged.thrifty()), budget_tokens=BUDGET).begin()
    script.work(_turns_before_a_fold())
    session, walk = script.session, Walk()
    said = pt.user("And the tests of it?")
    step, _ = walk.step("append", lambda: session.append(said))
    yield step
    step, context = walk.step("derive", lambda: session.derive(budget_tokens=BUDGET))
    yield step
    assert context.fold is not None
    step, _ = walk.step("dump", lambda: openai_chat.dump(context))
    yield step
    message = {"role": "assistant", "content": "They are in tests/auth/test_login.py."}
    reply = {"choices": [{"message": message}], "usage": {"prompt_tokens": 1_900, "completion_tokens": 12}}
    step, loaded = walk.step("load_reply", lambda: openai_chat.load_reply(reply))
    yield step
    step, _ = walk.step("append the reply", lambda: session.append(loaded))
    yield step


def _turns_before_a_fold() -> int:
    script = Script(open_session(policy=pt.Paged.thrifty()), budget_tokens=BUDGET).begin()
    while script.work(1)[0].fold is None:
        pass
    return script.turns - 1


def main() -> None:
    """Print the walk; an end with an error where something calls up that is not known to."""
    unknown = []
    for step in one_turn():
        print(f"{step.name}: {' > '.join(step.rooms)}")
        for entry in step.entries:
            print(f"    {entry.room:<10} {entry.function}, from {entry.caller}")
        for ascent in step.ascents:
            print(f"    up: {ascent}: {PASSED_DOWN.get(ascent.kind, 'NOT KNOWN')}")
            unknown += [ascent] if ascent.kind not in PASSED_DOWN else []
    sys.exit(f"{len(unknown)} calls go up that are not known to" if unknown else 0)


if __name__ == "__main__":
    main()
