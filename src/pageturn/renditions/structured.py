"""Structured: what a call asked and what came of it, as fields, and the names that are likely to be named again.

A unit, a call with its results or a lone message, is one text. Words of the model or of a tool are quoted, never imitated.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from typing import Any, NamedTuple

from pageturn.identifiers import Vocabulary
from pageturn.messages import Message, Text, ToolCall, ToolResult
from pageturn.renditions.content import material_of
from pageturn.renditions.contract import ContentType
from pageturn.renditions.fencing import escaped
from pageturn.renditions.names import choose_names
from pageturn.renditions.scanning import without_middle
from pageturn.renditions.troubles import troubles

_SHARE = 0.16  # of the characters of a text; with the other fields about a tenth of its tokens
_LEAST = 60
_MOST = 4_000
_ASKED = 120
_LONG = 400  # characters of arguments that are more than what was asked
_SUBJECTS = ("file_path", "path", "command", "cmd", "pattern", "query", "url", "description", "prompt")
_ERROR_LINES, _ERROR_CHARS = 4, 160
_ESCAPE = "\\"  # in arguments, which are JSON, a line that begins with a tab and a name reads \\tname
_EXIT = re.compile(r"\s*(?:Exit code:?|Process exited with code) (\d+)")


class Voiced(NamedTuple):
    """A message with the handle by which its page is had back."""

    handle: str
    message: Message


class Fields(NamedTuple):
    """What is told of a unit, line by line; a line of names is a tuple, so that it can leave out what others tell."""

    lines: tuple[str | tuple[str, ...], ...]

    @property
    def names(self) -> Iterator[str]:
        """The names that it tells."""
        return (name.removeprefix(_ESCAPE) for line in self.lines if isinstance(line, tuple) for name in line)

    def text(self, without: AbstractSet[str] = frozenset()) -> str:
        """The lines as text, without names that stand elsewhere."""
        told = []
        for line in self.lines:
            if isinstance(line, str):
                told.append(line)
            elif left := [name for name in line if name.removeprefix(_ESCAPE) not in without]:
                told.append("names: " + escaped(" ".join(left)))
        return "\n".join(told)


def structured(unit: Sequence[Voiced], vocabulary: Vocabulary) -> Fields:
    """The fields of a unit, one page a paragraph."""
    calls = {call.id: call for voiced in unit for call in voiced.message.tool_calls}
    answered = {result.tool_call_id for voiced in unit for result in voiced.message.tool_results}
    return Fields(tuple(line for voiced in unit for line in _page(voiced, calls, answered, vocabulary)))


def _page(
    voiced: Voiced, calls: Mapping[str, ToolCall], answered: AbstractSet[str], vocabulary: Vocabulary
) -> Iterator[str | tuple[str, ...]]:
    message = voiced.message
    for result in message.tool_results:
        yield from _result(voiced.handle, result, calls.get(result.tool_call_id), vocabulary)
    if message.text or not (message.tool_calls or message.tool_results):
        yield from _said(voiced, vocabulary)
    for call in message.tool_calls:
        if call.id not in answered:
            yield f"{voiced.handle} {asked(call)}"
        yield from (f"{voiced.handle} {effect}" for effect in effects(call))
        if len(call.arguments) > _LONG:
            yield from _names(call.arguments, vocabulary, told=asked(call))


def _result(
    handle: str, result: ToolResult, call: ToolCall | None, vocabulary: Vocabulary
) -> Iterator[str | tuple[str, ...]]:
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    told = asked(call) if call is not None else "result"
    yield f"{handle} {told}: {_outcome(result, text)}"
    if result.is_error or material_of(text, call).type is ContentType.LOG:
        yield from _errors(without_middle(text))
    yield from _names(text, vocabulary, told=told)


def _said(voiced: Voiced, vocabulary: Vocabulary) -> Iterator[str | tuple[str, ...]]:
    """The first words of a message, and what it has beside words."""
    message = voiced.message
    others = [f"[{type(part).__name__.lower()}]" for part in message.content if not isinstance(part, Text)]
    words = escaped(" ".join(message.text[:400].split())[:_ASKED])
    yield f"{voiced.handle} {message.role}: {words or ' '.join(dict.fromkeys(others)) or 'nothing'}"
    yield from _names(message.text, vocabulary, told=words)


def asked(call: ToolCall) -> str:
    """The tool, and the first words of what it was asked."""
    return escaped(subject(call))


def subject(call: ToolCall) -> str:
    """The same, as it came."""
    value = call.parsed
    shown = _argument_words(value) if isinstance(value, Mapping) else call.arguments
    return f"{call.name} {' '.join(shown[:600].split())[:_ASKED]}".strip()


def _argument_words(arguments: Mapping[str, Any]) -> str:
    """What a call is about: a path, a command, a pattern; else its first short texts. Long texts are told by their effects."""
    told = [arguments[name] for name in _SUBJECTS if isinstance(arguments.get(name), str)]
    if not told:
        told = [value for value in arguments.values() if isinstance(value, str) and len(value) <= _ASKED][:2]
    return " ".join(told)


def _outcome(result: ToolResult, text: str) -> str:
    code = _EXIT.match(text)
    status = "error, " if result.is_error else f"exit {code[1]}, " if code and code[1] != "0" else ""
    seen = [f"[{type(part).__name__.lower()}]" for part in result.parts if not isinstance(part, Text)]
    size = _lines(text) if text else "" if seen else "nothing"
    return status + " ".join(filter(None, [size, *seen]))


def _errors(text: str) -> Iterator[str]:
    lines = text.split("\n")
    told = list(dict.fromkeys(lines[at].strip()[:_ERROR_CHARS] for at in troubles(lines)))
    half = _ERROR_LINES // 2
    shown = told if len(told) <= _ERROR_LINES else [*told[:half], *told[-half:]]  # where it began, and how it ended
    yield from (f"! {escaped(line)}" for line in shown)


def effects(call: ToolCall) -> Iterator[str]:
    """What a call changed: the texts that it put in the place of others, by their digests."""
    match call.parsed:
        case {"old_string": str() as old, "new_string": str() as new}:
            yield f"changed {_digest(old)} ({_lines(old)}) to {_digest(new)} ({_lines(new)})"
        case {"content": str() as content} if len(content) > _ASKED:
            yield f"wrote {_digest(content)} ({_lines(content)})"
        case {"input": str() as patch} if "*** Begin Patch" in patch:
            yield f"patched {_digest(patch)} ({_lines(patch)})"


def _lines(text: str) -> str:
    count = text.count("\n") + 1
    return f"{count} line{'s' if count > 1 else ''}"


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()


def _names(text: str, vocabulary: Vocabulary, *, told: str) -> Iterator[tuple[str, ...]]:
    """The names of a text that are worth their room, the likeliest first; with the backslash that JSON put before them."""
    room = min(max(_LEAST, int(len(text) * _SHARE)), _MOST)
    chosen = choose_names(without_middle(text), vocabulary, room, told=told)
    if chosen:
        yield tuple(_ESCAPE + name if _ESCAPE + name in text else name for name in chosen)
