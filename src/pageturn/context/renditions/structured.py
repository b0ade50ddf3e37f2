"""Renders the structured form: a call and its outcome as fields, with the names that are likely to be used again.

A unit, which is a call with its results or a single message, becomes one text. Text of the model or of a tool is quoted.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from typing import Any, NamedTuple

from pageturn.context.renditions.content import FILE_FIELDS, material_of
from pageturn.context.renditions.contract import ContentType
from pageturn.context.renditions.error_lines import error_lines
from pageturn.context.renditions.names import choose_names
from pageturn.context.renditions.scanning import without_middle
from pageturn.values.fencing import escaped, labelled
from pageturn.values.identifiers import Vocabulary
from pageturn.values.messages import Message, Text, ToolCall, ToolResult

_SHARE = 0.16  # of the characters of a text; with the other fields about a tenth of its tokens
_LEAST = 60
_CALL_SHARE, _CALL_LEAST = 0.3, 240  # of what the agent itself wrote, most of which it names again
_MOST = 4_000
_ASKED = 120
_LONG_TALK = 16_000  # characters of a message that may say at its end what it wants
_HUGE = 100_000  # characters of a result whose outline has no room in a small window
_END = 400
_SUBJECTS = (*FILE_FIELDS, "command", "cmd", "pattern", "query", "url", "description", "prompt")
_ERROR_LINES, _ERROR_CHARS = 4, 160
_RULE = "=_"  # around headings
_ESCAPE = "\\"  # in arguments, which are JSON, a line that begins with a tab and a name reads \\tname
_ESCAPED = re.compile(r"\\[\w.@~/#-]+")
_EXIT = re.compile(r"\s*(?:Exit code:?|Process exited with code) (\d+)")


class PageMessage(NamedTuple):
    """A message, and the handle of its page."""

    handle: str
    message: Message


class Fields(NamedTuple):
    """The lines of a structured form; a line of names is a tuple, so that names shown elsewhere can be omitted."""

    lines: tuple[str | tuple[str, ...], ...]

    @property
    def names(self) -> Iterator[str]:
        """The names in it."""
        return (name.removeprefix(_ESCAPE) for line in self.lines if isinstance(line, tuple) for name in line)

    def text(self, without: AbstractSet[str] = frozenset()) -> str:
        """The lines as text, without names that are shown elsewhere."""
        written = []
        for line in self.lines:
            if isinstance(line, str):
                written.append(line)
            elif left := [name for name in line if name.removeprefix(_ESCAPE) not in without]:
                written.append("names: " + escaped(" ".join(left)))
        return "\n".join(written)


def structured(unit: Sequence[PageMessage], vocabulary: Vocabulary) -> Fields:
    """The fields of a unit, one paragraph per page."""
    calls = {call.id: call for page in unit for call in page.message.tool_calls}
    answered = {result.tool_call_id for page in unit for result in page.message.tool_results}
    return Fields(tuple(line for page in unit for line in _page(page, calls, answered, vocabulary)))


def _page(
    page: PageMessage, calls: Mapping[str, ToolCall], answered: AbstractSet[str], vocabulary: Vocabulary
) -> Iterator[str | tuple[str, ...]]:
    message = page.message
    for result in message.tool_results:
        yield from _result(page.handle, result, calls.get(result.tool_call_id), vocabulary)
    if message.text or not (message.tool_calls or message.tool_results):
        yield from _said(page, vocabulary)
    for call in message.tool_calls:
        if call.id not in answered:
            yield labelled(page.handle, asked(call))
        yield from (labelled(page.handle, effect) for effect in effects(call))
        yield from _names(call.arguments, vocabulary, shown=asked(call), share=_CALL_SHARE, least=_CALL_LEAST)


def _result(
    handle: str, result: ToolResult, call: ToolCall | None, vocabulary: Vocabulary
) -> Iterator[str | tuple[str, ...]]:
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    subject = asked(call) if call is not None else "result"
    yield labelled(handle, f"{subject}: {_outcome(result, text)}")
    if result.is_error or material_of(text, call).type is ContentType.LOG:
        yield from _errors(without_middle(text))
    if len(text) > _HUGE:
        yield f"begins: {_words(text[:_END])}"
        yield f"ends: {_words(text[-_END:])}"
    yield from _names(text, vocabulary, shown=subject)


def _said(page: PageMessage, vocabulary: Vocabulary) -> Iterator[str | tuple[str, ...]]:
    """The first words of a message, and its other parts."""
    message = page.message
    others = [f"[{type(part).__name__.lower()}]" for part in message.content if not isinstance(part, Text)]
    words = escaped(" ".join(message.text[:400].split())[:_ASKED])
    yield labelled(page.handle, f"{message.role}: {words or ' '.join(dict.fromkeys(others)) or 'nothing'}")
    if len(message.text) > _LONG_TALK:
        yield f"ends: {_words(message.text[-_END:])}"
    yield from _names(message.text, vocabulary, shown=words)


def _words(text: str) -> str:
    return escaped(" ".join(text.split()))


def asked(call: ToolCall) -> str:
    """The tool, and the beginning of its arguments."""
    return escaped(subject(call))


def subject(call: ToolCall) -> str:
    """The same, not escaped."""
    value = call.parsed
    shown = _argument_words(value) if isinstance(value, Mapping) else call.arguments
    return f"{call.name} {' '.join(shown[:600].split())[:_ASKED]}".strip()


def _argument_words(arguments: Mapping[str, Any]) -> str:
    """What a call is about: a path, a command, a pattern; else its first short texts. Long texts are shown by their effects."""
    subjects = [arguments[name] for name in _SUBJECTS if isinstance(arguments.get(name), str)]
    if not subjects:
        subjects = [value for value in arguments.values() if isinstance(value, str) and len(value) <= _ASKED][:2]
    return " ".join(subjects)


def outcome(result: ToolResult, text: str) -> str:
    """How a call ended, if not well: an error, or the exit code of a program."""
    code = _EXIT.match(text)
    return "error" if result.is_error else f"exit {code[1]}" if code and code[1] != "0" else ""


def _outcome(result: ToolResult, text: str) -> str:
    status = f"{ended}, " if (ended := outcome(result, text)) else ""
    seen = [f"[{type(part).__name__.lower()}]" for part in result.parts if not isinstance(part, Text)]
    size = _lines(text) if text else "" if seen else "nothing"
    return status + " ".join(filter(None, [size, *seen]))


def _errors(text: str) -> Iterator[str]:
    lines = text.split("\n")
    bare = dict.fromkeys(lines[at].strip().strip(_RULE).strip()[:_ERROR_CHARS] for at in error_lines(lines))
    # A line like FAILURES is only a heading.
    lines_kept = [line for line in bare if not (line.isalpha() and line.isupper())] or list(bare)
    half = _ERROR_LINES // 2
    # Of many, those at the beginning and at the end.
    shown = lines_kept if len(lines_kept) <= _ERROR_LINES else [*lines_kept[:half], *lines_kept[-half:]]
    yield from (f"! {escaped(line)}" for line in shown)


def effects(call: ToolCall) -> Iterator[str]:
    """What a call changed: the texts that it replaced and wrote, by their digests."""
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


def _names(
    text: str, vocabulary: Vocabulary, *, shown: str, share: float = _SHARE, least: int = _LEAST
) -> Iterator[tuple[str, ...]]:
    """The names of a text to keep, most likely first; with the backslash that JSON put before them."""
    room = min(max(least, int(len(text) * share)), _MOST)
    looked_at = without_middle(text)
    chosen = choose_names(looked_at, vocabulary, room, shown=shown)
    if chosen:
        yield tuple(_as_spelled(chosen, looked_at))


def _as_spelled(names: list[str], text: str) -> Iterator[str]:
    """The names, with a backslash before those that follow one in the text."""
    spelled = sorted(set(_ESCAPED.findall(text))) if _ESCAPE in text else []
    for name in names:
        at = bisect_left(spelled, _ESCAPE + name)
        yield _ESCAPE + name if at < len(spelled) and spelled[at].startswith(_ESCAPE + name) else name
