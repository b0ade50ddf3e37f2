"""Runs other libraries for comparison, each in a process and an environment of its own.

A runner reads from standard input a line `{"budget_tokens": 8000, "pinned": [1]}` and then one line for each message of the session, in
our JSON. It writes one line for each turn: `{"request": [0, 4, {"role": "user", ...}]}`, where a number is an unchanged message
and everything else a message in the same form; optionally with `"recalled": {"2": "..."}`, what it got back by following a reference
that the request shows; or `{"refused": "why"}`. Any other output goes to standard error.
"""

import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pageturn.lab.replay import Seen
from pageturn.lab.traces import Trace
from pageturn.values.errors import InvalidInput
from pageturn.values.json import Closed, from_json, to_json
from pageturn.values.messages import Message

_NOTHING: Mapping[int, str] = {}


class Request(NamedTuple):
    """The request of one turn: its messages, or None if it was refused; and what could be fetched of the rest, by place."""

    messages: Sequence[Message] | None
    recalled: Mapping[int, str] = _NOTHING


class _Line(Closed, omit_defaults=True):
    request: list[int | dict[str, Any]] | None = None
    recalled: dict[int, str] = msgspec.field(default_factory=dict)
    refused: str | None = None


_LINES = msgspec.json.Decoder(_Line)
_COMMANDS = msgspec.json.Decoder(dict[str, list[str]])


def read_commands(path: Path) -> dict[str, list[str]]:
    """The runners in a file, each with its command: `{"their name": ["python", "runner.py"], ...}`."""
    try:
        commands = _COMMANDS.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeError) as error:
        raise InvalidInput(str(path), expected="JSON: a command for each name, as words", got=str(error)) from error
    if not commands:
        raise InvalidInput(str(path), expected="a command for each name, as words", got="no name at all")
    for name, command in commands.items():
        if not name or not command:
            raise InvalidInput(str(path), expected="a name and the words of its command", got=f"{name!r}: {command}")
    return commands


def write_commands(path: Path, commands: Mapping[str, Iterable[str | Path]]) -> None:
    """Write the form that `read_commands` reads."""
    named = {name: [str(word) for word in command] for name, command in commands.items()}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(named), indent=2) + b"\n")


class Peer:
    """Another library, behind the command that runs it. Called with a session, it returns what it shows, turn by turn."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        budget_tokens: int,
        *,
        pinned: Sequence[int] = (),
        seconds: float = 600,
    ) -> None:
        self.name = name
        self._command = [str(word) for word in command]
        self._opening = {"budget_tokens": budget_tokens, "pinned": list(pinned)}
        self._seconds = seconds

    def __call__(self, trace: Trace) -> Iterator[Seen]:
        """What the model would see at each turn."""
        return (request.messages for request in self.requests(trace))

    def requests(self, trace: Trace) -> list[Request]:
        """The request of each turn; raises if the runner does anything else."""
        lines = self._run(b"\n".join([to_json(self._opening), *map(to_json, trace.messages)])).splitlines()
        if len(lines) != len(trace.turns):
            raise InvalidInput(self.name, expected=f"{len(trace.turns)} requests, one a turn", got=f"{len(lines)}")
        pairs = zip(trace.turns, lines, strict=True)
        return [self._read(line, number, trace.messages[:turn]) for number, (turn, line) in enumerate(pairs, start=1)]

    def _run(self, given: bytes) -> bytes:
        try:
            done = subprocess.run(  # noqa: S603
                self._command, input=given, capture_output=True, timeout=self._seconds, check=False
            )
        except subprocess.TimeoutExpired:
            raise InvalidInput(self.name, expected=f"an end within {self._seconds:g} seconds", got="none") from None
        except OSError as error:
            raise InvalidInput(self.name, expected="a command that can be run", got=str(error)) from error
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            why = f": {said[-1]}" if said else ""
            raise InvalidInput(self.name, expected="a runner that succeeds", got=f"status {done.returncode}{why}")
        return done.stdout

    def _read(self, line: bytes, number: int, before: Sequence[Message]) -> Request:
        path = f"{self.name}, turn {number}"
        try:
            answer = _LINES.decode(line)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise InvalidInput(path, expected="a request as a line of JSON", got=f"{line[:60]!r} ({error})") from error
        if (answer.request is None) == (answer.refused is None):
            raise InvalidInput(path, expected="either a request or why it is refused", got=f"{line[:60]!r}")
        if answer.request is None:
            return Request(None)
        return Request(tuple(self._message(path, item, before) for item in answer.request), answer.recalled)

    def _message(self, path: str, item: int | dict[str, Any], before: Sequence[Message]) -> Message:
        if isinstance(item, dict):
            try:
                return from_json(Message, msgspec.json.encode(item))
            except InvalidInput as error:
                raise InvalidInput(path, expected="messages", got=str(error)) from error
        if not 0 <= item < len(before):
            raise InvalidInput(path, expected=f"the place of one of {len(before)} messages before it", got=str(item))
        return before[item]
