"""Entry points: every way by which a text from anywhere gets into the library, or through it.

Each takes a text and gives back the work that is to be measured; what has to be there before is made on the way.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pageturn as pt
from pageturn.apps.importing import Report, import_file
from pageturn.context.renditions import PageMessage
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.journal.archive import pack, unpack
from pageturn.lab.our_policies import Deriving
from pageturn.lab.replay import Recording
from pageturn.lab.traces import Trace
from pageturn.stores import MemoryStore
from pageturn.tokens.encodings.portable import PortableEncoding
from pageturn.tokens.families import family_of
from pageturn.tokens.too_long import read_overflow
from pageturn.writeback.summaries.contract import SummaryRequest
from pageturn.writeback.summaries.extractive import Extractive
from tests.sessions import open_session, take_tasks

Work = Callable[[], object]
EntryPoint = Callable[[str], Work]

_SAMPLES = Path(__file__).parents[1] / "apps" / "importing" / "samples"
_BUDGET = 6_000
_TOLD = ("text", "content", "output", "thinking", "arguments", "input", "command", "resultDisplay", "message", "body")


def begun(policy: pt.DerivePolicy | None = None) -> pt.Session:
    session = open_session(policy=policy or pt.Paged(budget_tokens=_BUDGET))
    session.extend([pt.system("You are an agent."), pt.user("Fix the login in src/auth.py, please.")])
    return session


def call(tool: str = "bash", number: int = 0, **arguments: Any) -> pt.ToolCall:
    return pt.ToolCall(id=f"k{number}", name=tool, arguments=json.dumps(arguments))


def step(asked: pt.ToolCall, text: str) -> list[pt.Message]:
    return [pt.assistant("I look.", asked), pt.tool_result(asked, text)]


def _appended(messages: Callable[[str], list[pt.Message]]) -> EntryPoint:
    def prepared(text: str) -> Work:
        session, said = begun(), messages(text)
        return lambda: session.extend(said)

    return prepared


def _folded(messages: Callable[[str], list[pt.Message]], policy: pt.DerivePolicy | None = None) -> EntryPoint:
    """The text is shown once, whole or not, and then put away."""

    def prepared(text: str) -> Work:
        session = begun(policy)
        session.extend(messages(text))

        def work() -> None:
            session.derive()
            session.extend([pt.assistant("Done with that."), pt.user("And now the logout in src/leave.py.")])
            session.choose(session.reader.policy)  # so that the next context is a fold, however short the text is
            assert session.derive().fold is not None
            session.extend([pt.assistant("Yes."), pt.user("And the rest.")])
            session.derive(budget_tokens=_BUDGET // 4)

        return work

    return prepared


def _recalled(text: str) -> Work:
    session = begun()
    page = session.extend(step(call(command="make"), f"{text}\nneedle"))[-1]

    def work() -> None:
        found = session.recall("needle login")
        assert isinstance(found, pt.Recalled)
        session.resolve(page)
        asked = [call("recall", 8, query="needle"), call("recall", 9, handle=page.handle, start=100)]
        session.append(pt.assistant("I look it up.", *asked))
        assert session.answer()

    return work


def _searched(text: str) -> Work:
    session = begun()
    for number in range(3):
        session.extend(step(call(number=number, command="make"), "a line of output\n" * 200))
    return lambda: session.recall(text)


def _tool_searched(text: str) -> Work:
    session = begun()
    session.append(pt.assistant("I look.", call("recall", query=text), call("recall", 1, handle=text)))
    return session.answer


def _overflowed(text: str) -> Work:
    def work() -> None:
        session = begun()
        session.derive()
        session.overflow(ValueError(f"prompt is too long: {text}"))
        read_overflow(text)

    return work


def _written_back(text: str) -> Work:
    session = begun()
    pages = session.extend(step(call(command="make"), text))
    proposal = pt.Proposal(field="summary", value=text[:90_000], evidence=(pages[0].handle, pages[1].handle))

    def work() -> None:
        session.write_back(proposal)
        with suppress(pt.InvalidInput):
            session.reset(text)

    return work


def _promised(text: str) -> Work:
    session = begun(pt.Paged())

    def work() -> None:
        for promise in (session.pin, session.plan, session.prefer):
            with suppress(pt.PageturnError):
                promise(text)
        with suppress(pt.BudgetTooSmall):
            session.derive()

    return work


def _tasks(text: str) -> Work:
    session = begun()
    lines = [text, json.dumps({"type": "goal_set", "goal": text[:1_000], "forbidden": [text]})]

    def work() -> None:
        with suppress(pt.PageturnError):
            take_tasks(session, lines)

    return work


def _formatted(format_: Any, messages: Callable[[str], Any]) -> EntryPoint:
    def prepared(text: str) -> Work:
        raw = messages(text)

        def work() -> None:
            session = begun()
            session.extend(format_.load_messages(raw))
            session.derive(budget_tokens=200_000)
            format_.dump(format_.load_messages(raw))

        return work

    return prepared


_CHAT_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}


def _chat(text: str) -> Any:
    asked = {**_CHAT_CALL, "function": {"name": "f", "arguments": json.dumps({"content": text})}}
    return [
        {"role": "user", "content": [{"type": "text", "text": text}], "name": "n"},
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c", "content": text},
    ]


def _responses(text: str) -> Any:
    return [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": text},
        {"type": "function_call_output", "call_id": "c", "output": text},
        {"type": "unheard_of", "payload": text},
    ]


def _anthropic(text: str) -> Any:
    return [
        {"role": "user", "content": text},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"content": text}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": text}]},
    ]


def _gemini(text: str) -> Any:
    return [
        {"role": "user", "parts": [{"text": text}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"content": text}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": text}}}]},
    ]


_PIECE = 7  # characters of a text that a stream brings at once


def _streamed(format_: Any, events: Callable[[list[str]], list[Any]]) -> EntryPoint:
    """The text as the words and as the arguments of a streamed answer, in pieces."""

    def prepared(text: str) -> Work:
        pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
        given = events(pieces)

        def work() -> None:
            stream = format_.Stream()
            for event in given:
                stream.feed(event)
            assert text in stream.message.text

        return work

    return prepared


def _anthropic_events(pieces: list[str]) -> list[Any]:
    start, delta = "content_block_start", "content_block_delta"
    said = [{"type": delta, "index": 0, "delta": {"type": "text_delta", "text": each}} for each in pieces]
    asked = [
        {"type": delta, "index": 1, "delta": {"type": "input_json_delta", "partial_json": each}} for each in pieces
    ]
    return [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "m"}},
        {"type": start, "index": 0, "content_block": {"type": "text", "text": ""}},
        *said,
        {"type": start, "index": 1, "content_block": {"type": "tool_use", "id": "c", "name": "f", "input": {}}},
        *asked,
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]


def _chat_chunks(pieces: list[str]) -> list[Any]:
    said: list[Any] = [{"content": each, "reasoning_content": each} for each in pieces]
    asked = [{"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": each}}]} for each in pieces]
    return [{"choices": [{"index": 0, "delta": each}]} for each in (*said, *asked)]


def _gemini_chunks(pieces: list[str]) -> list[Any]:
    said: list[Any] = [{"text": each} for each in pieces]
    asked = [
        {"functionCall": {"name": "f", "willContinue": True, "partialArgs": [{"jsonPath": "$.a", "stringValue": each}]}}
        for each in pieces
    ]
    return [{"candidates": [{"content": {"parts": [each]}}]} for each in (*said, *asked)]


def _responses_events(pieces: list[str]) -> list[Any]:
    place = {"output_index": 0, "content_index": 0}
    said = [{"type": "response.output_text.delta", **place, "delta": each} for each in pieces]
    call_ = {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}
    asked = [{"type": "response.function_call_arguments.delta", "output_index": 1, "delta": each} for each in pieces]
    return [*said, {"type": "response.output_item.added", "output_index": 1, "item": call_}, *asked]


def _packed(text: str) -> Work:
    store = MemoryStore()
    with pt.Session.open(store, id="s") as session:
        session.extend(step(call(command="make"), text))
    return lambda: unpack(MemoryStore(), [*pack(store, "s")])


def _packed_lines(text: str) -> Work:
    """A file that is hostile itself."""
    lines = text.encode("utf-8", "replace").splitlines(keepends=True)

    def work() -> None:
        with suppress(pt.PageturnError):
            unpack(MemoryStore(), lines)

    return work


def _imported(sample: Path) -> EntryPoint:
    """A log of another tool, in which somebody said this."""

    def prepared(text: str) -> Work:
        whole = sample.read_text(encoding="utf-8")
        pieces = whole.split("\n") if sample.suffix == ".jsonl" else [whole]
        values = list(_readable(pieces))
        longest = sorted(_said(values), key=len, reverse=True)[:2]
        written = "\n".join(json.dumps(_with_text(value, longest, text)) for value in values)
        return _import_of(sample.name, written.encode())

    return prepared


def _readable(lines: list[str]) -> Iterator[Any]:
    for line in lines:
        with suppress(json.JSONDecodeError):
            yield json.loads(line)


def _with_text(value: Any, replaced: list[str], text: str) -> Any:
    """The same with the text in place of some others."""
    match value:
        case str() if value in replaced:
            return text
        case dict():
            return {name: _with_text(inner, replaced, text) for name, inner in value.items()}
        case list():
            return [_with_text(inner, replaced, text) for inner in value]
    return value


def _said(value: Any, name: str = "") -> list[str]:
    match value:
        case str():
            return [value] if name in _TOLD else []
        case dict():
            return [text for inner, each in value.items() for text in _said(each, inner)]
        case list():
            return [text for each in value for text in _said(each, name)]
    return []


def _import_of(name: str, data: bytes) -> Work:
    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            import_file(MemoryStore(), path, Report())

    return work


def _import_raw(before: str = "", ending: str = ".jsonl") -> EntryPoint:
    """A file that is hostile itself."""
    return lambda text: _import_of(f"log{ending}", (before + text).encode("utf-8", "replace"))


def _replayed(messages: Callable[[str], list[pt.Message]]) -> EntryPoint:
    def prepared(text: str) -> Work:
        beginning = [pt.system("You are an agent."), pt.user("Fix the login in src/auth.py, please.")]
        edit = call("edit", 7, file_path="src/auth.py", old_string="the line that stands there", new_string="x")
        ending = [*step(edit, "done"), pt.assistant("Done.")]
        trace = Trace("s", "hostile", (*beginning, *messages(text), *ending))
        return lambda: Recording(trace).score(Deriving(pt.Paged(budget_tokens=_BUDGET)))

    return prepared


def _summarized(text: str) -> Work:
    said = [pt.user("Fix the login."), *step(call(command="make"), text)]
    pages = tuple(PageMessage(f"p{number}-aaaa", message) for number, message in enumerate(said, start=1))
    request = SummaryRequest(pages=pages, target_tokens=800, least_tokens=10, count=lambda words: len(words) // 4)
    return lambda: Extractive().summarize(request)


def _counted_in_python(text: str) -> Work:
    vocabulary = _portable()
    return lambda: vocabulary.count(text)


@cache
def _portable() -> PortableEncoding:
    return PortableEncoding("o200k_base")


def _named_as_model(text: str) -> Work:
    def work() -> None:
        session = begun()
        family_of(text)
        openai_chat.dump(session.derive(model=f"m{text}"))

    return work


def _by_command(text: str) -> list[pt.Message]:
    return step(call(command="make"), text)


def _from_file(ending: str) -> Callable[[str], list[pt.Message]]:
    return lambda text: step(call("read", path=f"src/module.{ending}"), text)


def _as_arguments(text: str) -> list[pt.Message]:
    return step(call("write", path="src/new.py", content=text), "written")


def _as_command(text: str) -> list[pt.Message]:
    return step(call(command=text), "done")


def _not_json(text: str) -> list[pt.Message]:
    return step(pt.ToolCall(id="k0", name="apply_patch", arguments=text), "done")


def _by_person(text: str) -> list[pt.Message]:
    return [pt.user(text), pt.assistant("I see.")]


ENTRY_POINTS: dict[str, EntryPoint] = {
    "append a result": _appended(_by_command),
    "append arguments": _appended(_as_arguments),
    "append what is not JSON": _appended(_not_json),
    "append a person's words": _appended(_by_person),
    "derive, output of a command": _folded(_by_command),
    "derive, a Python file": _folded(_from_file("py")),
    "derive, a TypeScript file": _folded(_from_file("ts")),
    "derive, a document": _folded(_from_file("md")),
    "derive, arguments": _folded(_as_arguments),
    "derive, a command": _folded(_as_command),
    "derive, what is not JSON": _folded(_not_json),
    "derive, a person's words": _folded(_by_person),
    "derive by Reset": _folded(_by_command, pt.Reset(_BUDGET)),
    "derive by Incremental": _folded(_by_command, pt.Incremental(_BUDGET)),
    "recall": _recalled,
    "recall, the query": _searched,
    "recall, the tool's arguments": _tool_searched,
    "overflow": _overflowed,
    "write back": _written_back,
    "pin, plan, prefer": _promised,
    "a task log": _tasks,
    "OpenAI chat": _formatted(openai_chat, _chat),
    "OpenAI responses": _formatted(openai_responses, _responses),
    "Anthropic": _formatted(anthropic, _anthropic),
    "Gemini": _formatted(gemini, _gemini),
    "a stream of OpenAI chat": _streamed(openai_chat, _chat_chunks),
    "a stream of OpenAI responses": _streamed(openai_responses, _responses_events),
    "a stream of Anthropic": _streamed(anthropic, _anthropic_events),
    "a stream of Gemini": _streamed(gemini, _gemini_chunks),
    "pack and unpack": _packed,
    "unpack": _packed_lines,
    **{f"import {sample.name}": _imported(sample) for sample in sorted(_SAMPLES.glob("*.*"))},
    "import a line": _import_raw("{} "),
    "import a second line": _import_raw('{"type": "session", "id": "s", "timestamp": 1}\n'),
    "import a whole file": _import_raw(ending=".json"),
    "replay, a result": _replayed(_by_command),
    "replay, arguments": _replayed(_as_arguments),
    "replay, what is not JSON": _replayed(_not_json),
    "summarize": _summarized,
    "count in Python": _counted_in_python,
    "the name of a model": _named_as_model,
}
