"""Assembles the chunks of Gemini's streams. Each chunk is a response; texts and parts are joined, and of every other field the last value counts.

A call comes whole in one part, unless the host asked Vertex to stream its arguments: then each piece has a path that says where in
the arguments it belongs.
"""

import re
from typing import Any

from pageturn.formats.fields import Fields, snake
from pageturn.formats.streams.growing import Pieces, grow, growing, joined
from pageturn.formats.streams.stream import EventStream, SoFar, error_object
from pageturn.values.errors import InvalidInput, show

_GROWING = ("citation_metadata", "logprobs_result")  # of a candidate: each chunk has only its own
_STEP = re.compile(r"""\.(?P<name>[^.\[\]]+)|\[(?P<index>\d{1,9})\]|\[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]""")
_UNSPECIFIED = "FINISH_REASON_UNSPECIFIED"


class GeminiChunks(EventStream):
    """The chunks of one answer of Gemini's."""

    def __init__(self) -> None:
        super().__init__()
        self._response: dict[str, Any] = {}
        self._candidate: dict[str, Any] = {}
        self._parts: list[dict[str, Any] | _Call] = []

    def _read(self, event: Any) -> Any:
        return snake(super()._read(event))

    def _take(self, event: Fields) -> None:
        candidates = event.take("candidates", list) or []
        read = [_candidate(raw, f"{event.path}.candidates[{place}]") for place, raw in enumerate(candidates)]
        error = error_object(event)
        feedback = event.rest.get("prompt_feedback")
        self._response |= event.rest
        for candidate, parts in read:
            for part in parts:
                self._add(part)
            grow(self._candidate, {name: candidate.rest.pop(name, None) for name in _GROWING})
            self._candidate |= candidate.rest
            self._has_ended |= candidate.rest.get("finish_reason", _UNSPECIFIED) != _UNSPECIFIED
        self._has_ended |= isinstance(feedback, dict) and "block_reason" in feedback
        if error is not None:
            self._fail(error)

    def _add(self, part: Fields) -> None:
        last = self._parts[-1] if self._parts else None
        if "function_call" in part.rest:
            call = last if isinstance(last, _Call) and last.goes_on(part) else _Call()
            call.take(part)
            if call is not last:
                self._parts.append(call)
        elif isinstance(last, dict) and _goes_on(last, part.rest):
            last["text"].texts.append(part.rest["text"])
        else:
            text = part.rest.get("text")
            self._parts.append(part.rest | ({"text": Pieces(text)} if isinstance(text, str) else {}))

    def _put_together(self) -> SoFar:
        parts: list[dict[str, Any]] = []
        incomplete: list[dict[str, Any]] = []
        for part in self._parts:
            if isinstance(part, _Call):
                (parts if part.is_whole else incomplete).append(part.joined())
            else:
                parts.append(part | {"text": joined(part["text"])} if "text" in part else part)
        candidate = joined(self._candidate) | {"content": {"role": "model", "parts": parts}}
        return SoFar(self._response | {"candidates": [candidate]}, incomplete)


def _candidate(raw: Any, path: str) -> tuple[Fields, list[Fields]]:
    """The one candidate of a chunk, and its parts."""
    candidate = Fields(raw, path)
    if candidate.rest.get("index"):
        raise InvalidInput(f"{path}.index", expected="one candidate", got="several")
    content = candidate.inner("content")
    parts = content.take("parts", list) or []
    return candidate, [Fields(part, f"{content.path}.parts[{place}]") for place, part in enumerate(parts)]


def _goes_on(part: dict[str, Any], piece: dict[str, Any]) -> bool:
    """Whether a piece continues the same plain text."""
    is_plain = piece.keys() <= {"text", "thought"} and part.keys() == piece.keys()
    is_text = isinstance(part.get("text"), Pieces) and isinstance(piece.get("text"), str)
    return is_plain and is_text and part.get("thought") == piece.get("thought")


class _Call:
    """A call whose arguments may still be arriving."""

    def __init__(self) -> None:
        self._part: dict[str, Any] = {}
        self._call: dict[str, Any] = {}
        self._arguments: dict[str, Any] = {}
        self._is_open = False

    def goes_on(self, part: Fields) -> bool:
        """Whether a part continues this call."""
        call = part.rest["function_call"]
        ids = [one.get("id") for one in (self._call, call) if isinstance(one, dict)]
        return self._is_open and (None in ids or all(each == ids[0] for each in ids))

    def take(self, part: Fields) -> None:
        """Add the call of a part, or a piece of one."""
        call = part.inner("function_call")
        pieces = [
            _Argument(raw, f"{call.path}.partial_args[{place}]")
            for place, raw in enumerate(call.take("partial_args", list) or [])
        ]
        will_continue = call.take("will_continue", bool) or False
        for piece in pieces:
            piece.put_into(self._arguments)
        if "args" in call.rest:
            self._arguments = growing(call.need("args", dict))
        self._call |= call.rest
        self._part |= part.rest
        self._is_open = will_continue

    @property
    def is_whole(self) -> bool:
        """Whether all of its arguments arrived."""
        return not self._is_open and isinstance(self._call.get("name"), str)

    def joined(self) -> dict[str, Any]:
        """The part in the vendor's form."""
        return {**self._part, "function_call": {**self._call, "args": joined(self._arguments)}}


class _Argument:
    """A piece of the arguments of a call: a value, or more of a text, and its path."""

    def __init__(self, raw: Any, path: str) -> None:
        fields = Fields(raw, path)
        self._path = f"{path}.json_path"
        self._steps = _steps(fields.text("json_path"), self._path)
        text, number, truth = (fields.rest.get(f"{kind}_value") for kind in ("string", "number", "bool"))
        if isinstance(number, float) and number.is_integer():  # the client's form of a whole number on the wire
            number = int(number)
        self._value: Any = next((value for value in (text, number, truth) if value is not None), None)

    def put_into(self, arguments: dict[str, Any]) -> None:
        holder: Any = arguments
        for step, after in zip(self._steps, self._steps[1:], strict=False):
            holder = self._at(holder, step, {} if isinstance(after, str) else [])
        last = self._steps[-1]
        before = self._at(holder, last, None)
        if isinstance(before, Pieces) and isinstance(self._value, str):
            before.texts.append(self._value)
        elif self._value is not None:
            holder[last] = growing(self._value)

    def _at(self, holder: Any, step: str | int, new: Any) -> Any:
        """The value at a step; `new` is inserted if there is none yet."""
        if isinstance(step, str) and isinstance(holder, dict):
            return holder.setdefault(step, new)
        if isinstance(step, int) and isinstance(holder, list) and step <= len(holder):
            if step == len(holder):
                holder.append(new)
            return holder[step]
        raise InvalidInput(self._path, expected="a path that fits the arguments so far", got=show(step))


def _steps(text: str, path: str) -> list[str | int]:
    """The steps of a path such as `$.files[0].name`."""
    steps: list[str | int] = []
    at = 1
    while text.startswith("$") and (step := _STEP.match(text, at)) is not None:
        at = step.end()
        steps.append(int(step["index"]) if step["index"] is not None else step["name"] or step["quoted"] or "")
    if at != len(text) or not steps or isinstance(steps[0], int):
        raise InvalidInput(path, expected="a path such as $.files[0].name", got=show(text))
    return steps
