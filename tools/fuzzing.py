"""Changing inputs, running them, and keeping what went wrong. The engine that looks at coverage is in tools/fuzz.py."""

import json
import random
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tools.fuzz_targets import Stage, Target

LONGEST = 20_000  # bytes of an input
SECONDS = 2.0  # of processor time that an input may take
_ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        5,
        1.5,
        1e308,
        2**63,
        2**70,
        10**400,
        "",
        " ",
        "x",
        "\ud800",
        "\0",
        "\u2028",
        "\x1b[2J",
        "9" * 5_000,
    ),
    *(
        [],
        {},
        [[]],
        [{}],
        {"type": None},
        {"role": []},
        {"": ""},
        "[" * 200,
        "p2-aaaa",
        "data:image/png;base64,x",
        "data:,",
        "9999-12-31T23:59:59Z",
    ),
)


class TooSlow(Exception):
    """An input took longer than any may."""


class Findings:
    """What a target did so far."""

    def __init__(self, target: Target, kept: Path | None = None) -> None:
        self.target = target
        self.inputs = 0
        self.parsed = 0
        self.accepted = 0
        self.crashes: dict[str, bytes] = {}  # by where it was raised: the shortest input that did it
        self.times: Counter[str] = Counter()
        self._kept = kept

    def run(self, data: bytes) -> None:
        """Run one input; what is not ours to raise is kept, and the next one can follow."""
        self.inputs += 1
        try:
            with _limited():
                stage = self.target.run(data)
            self.parsed += stage >= Stage.PARSED
            self.accepted += stage >= Stage.ACCEPTED
        except Exception as error:  # noqa: BLE001 (that is what is looked for)
            place = _place(error)
            self.times[place] += 1
            if place not in self.crashes or len(data) < len(self.crashes[place]):
                self.crashes[place] = data
                if self._kept is not None:
                    self._kept.mkdir(parents=True, exist_ok=True)
                    name = "".join(letter if letter.isalnum() else "-" for letter in place)[:100]
                    (self._kept / f"{self.target.name}-{name}").write_bytes(data)


def changed(data: bytes, chance: random.Random, target: Target, *, most: int = LONGEST) -> bytes:
    """An input that differs a little from another: in its bytes, or in one value of its JSON or one of its words; or a new one."""
    if target.make is not None and chance.random() < 0.7:
        return target.make(chance)[:most]
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if chance.random() >= 0.85:
            data = _with_other_bytes(data, chance)
        elif target.words:
            data = _with_other_word(data, chance, target.words)
        else:
            data = _with_other_value(data, chance) if target.is_json else _with_other_bytes(data, chance)
    return data[:most]


def inputs(target: Target, seed: int) -> Iterator[bytes]:
    """Inputs without end: the seeds, then changes of them and of each other.

    Half of the changes begin at a seed, and what is no JSON is not changed further: else nearly all are soon refused by the first parser.
    """
    chance = random.Random(seed)  # noqa: S311
    seeds = target.seeds()
    yield from seeds
    pool = list(seeds)
    while True:
        made = changed(chance.choice(seeds if chance.random() < 0.5 else pool), chance, target)
        if len(pool) < 500 and chance.random() < 0.02 and (is_json(made) or not target.is_json):
            pool.append(made)
        yield made


def is_json(data: bytes) -> bool:
    """Whether the first line of an input is JSON, but for one byte before it."""
    line = data.partition(b"\n")[0]
    start = _start(line)
    try:
        json.loads(line[start:].decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return False
    return start <= 1


def _start(line: bytes) -> int:
    return min((at for at in (line.find(b"{"), line.find(b"[")) if at >= 0), default=0)


def _with_other_bytes(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    to = min(len(data), at + chance.choice((1, 1, 2, 4, 16, 256)))
    match chance.randrange(6):
        case 0:
            return data[:at] + chance.randbytes(to - at) + data[to:]
        case 1:
            return data[:at] + data[to:]
        case 2:
            return data[:at] + data[at:to] * chance.choice((2, 3, 50)) + data[to:]
        case 3:
            other = chance.randrange(len(data) + 1)
            return data[:at] + data[other : other + 40] + data[at:]
        case 4:
            return data[:at] + chance.choice(_PIECES) + data[at:]
        case _:
            return data[:at]


_PIECES = (
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\n",
    b"[" * 1_500,
    b'{"a":' * 300,
    b'"',
    b"\\ud800",
    b"1e999",
    b"-",
    b"NaN",
    b"\xe2\x80\xa8",
    b"9" * 4_400,
)


def _with_other_word(data: bytes, chance: random.Random, words: tuple[bytes, ...]) -> bytes:
    """A line of words with one of them replaced, left out or doubled, or one more in it."""
    line = data.split(b"\0")
    at = chance.randrange(len(line))
    match chance.randrange(4):
        case 0:
            line[at] = chance.choice(words)
        case 1:
            del line[at]
        case 2:
            line.insert(at, line[at])
        case _:
            line.insert(at + 1, chance.choice(words))
    return b"\0".join(line)


def _with_other_value(data: bytes, chance: random.Random) -> bytes:
    """JSON, or one line of it, with one value replaced, doubled or left out; the bytes before it, if any, stay."""
    lines = data.split(b"\n")
    number = chance.randrange(len(lines))
    line = lines[number]
    start = _start(line)
    if start > 1:
        return _with_other_bytes(data, chance)
    try:
        value = json.loads(line[start:].decode("utf-8", "surrogatepass"))
        places = list(_places(value))
        _change(places, chance)
        lines[number] = line[:start] + json.dumps(value).encode()
    except (ValueError, RecursionError):
        return _with_other_bytes(data, chance)
    return b"\n".join(lines)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a value, as what holds it and its key; without recursion."""
    waiting = [value]
    while waiting:
        held = waiting.pop()
        for key in list(held) if isinstance(held, dict) else range(len(held)) if isinstance(held, list) else ():
            yield held, key
            waiting.append(held[key])


def _change(places: list[tuple[Any, Any]], chance: random.Random) -> None:
    if not places:
        return
    held, key = chance.choice(places)
    match chance.randrange(7):
        case 0:
            del held[key]
        case 1:
            held[key] = [held[key]]
        case 2:
            other, at = chance.choice(places)
            held[key] = (
                json.loads(json.dumps(other[at]))
                if at in other or (isinstance(other, list) and at < len(other))
                else None
            )
        case 3 if isinstance(held, list):
            held.insert(key, json.loads(json.dumps(held[key])))
        case 3:
            held[chance.choice(("type", "role", "content", "id", "extra", "$extra", "\ud800"))] = chance.choice(_ODD)
        case 4 if isinstance(held[key], str) and held[key]:
            at = chance.randrange(len(held[key]))
            held[key] = held[key][:at] + str(chance.choice(_ODD[11:19])) + held[key][at:]
        case _:
            held[key] = chance.choice(_ODD)


@contextmanager
def _limited() -> Iterator[None]:
    """Within it, processor time is limited."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"more than {SECONDS:g} s")

    before: Callable[..., Any] | int | None = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/pageturn/" in frame.filename and "site-packages" not in frame.filename]
    last = (ours or list(frames))[-1]
    if isinstance(error, RecursionError | TooSlow):  # which come where the stack or the time happens to end
        return f"{type(error).__name__} {(ours or list(frames))[0].name} {last.filename.rpartition('/')[2]}"
    return f"{type(error).__name__} {last.filename.rpartition('/pageturn/')[2]}:{last.lineno}"
