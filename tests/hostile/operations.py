"""Crowds of operations: a session, a request or a stream in which the same thing happens very often."""

import json
from collections.abc import Callable
from types import ModuleType

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.journal.archive import pack, unpack
from pageturn.stores import MemoryStore
from tests.hostile.entry_points import begun, call, step

Work = Callable[[], object]
Prepared = Callable[[int], Work]


def _large() -> pt.Session:
    return begun(pt.Paged(budget_tokens=150_000))


def calls_with_one_id(format_: ModuleType) -> Prepared:
    """Servers that count their calls anew in each answer call all of them `call_0`."""

    def prepared(count: int) -> Work:
        said = [pt.user("go")]
        for _ in range(count):
            asked = call(command="ls")
            said += [pt.assistant(asked), pt.tool_result(asked, "x")]
        return lambda: format_.dump(said)

    return prepared


def memory_written(count: int) -> Work:
    session = _large()
    page = session.append(pt.user("x"))

    def work() -> None:
        for number in range(count):
            written = session.write_back(pt.Proposal(field="memory.log", value=number, evidence=(page.handle,)))
            assert isinstance(written, pt.Committed)
        assert len(session.reader.memory("log")) == count

    return work


def memory_merged(count: int) -> Work:
    session = _large()
    page = session.append(pt.user("x"))

    def work() -> None:
        for number in range(count):
            value = {f"k{number}": number}
            session.write_back(pt.Proposal(field="memory.log", value=value, op="merge", evidence=(page.handle,)))
        assert len(session.reader.memory("log")) == count

    return work


def forms_written(count: int) -> Work:
    """A short form for each of very many results."""
    session = _large()
    pages = [session.extend(step(call(number=number), f"line {number} is fine\n" * 20))[-1] for number in range(count)]

    def work() -> None:
        for number, page in enumerate(pages):
            value = f"line {number} is fine"
            written = session.write_back(pt.Proposal(field="structured", value=value, evidence=(page.handle,)))
            assert isinstance(written, pt.Committed)
        session.derive()

    return work


def _talked(count: int) -> pt.Session:
    session = _large()
    for number in range(count):
        session.extend([pt.user(f"do {number}"), *step(call(number=number), f"line {number}\n" * 20)])
        session.append(pt.assistant("done"))
    return session


def undone(count: int) -> Work:
    session = _talked(count)

    def work() -> None:
        session.undo(count // 2)
        session.derive()

    return work


def reset(count: int) -> Work:
    session = _talked(count)

    def work() -> None:
        session.reset("the user said what to do", force=True)
        session.derive()

    return work


def erased(count: int) -> Work:
    session = _talked(count)
    pages = session.reader.pages()

    def work() -> None:
        for at in (4, count // 2, count - 1):
            session.erase(pages[at])
        session.derive()

    return work


def packed(count: int) -> Work:
    store = MemoryStore()
    with pt.Session.open(store, id="s") as session:
        for number in range(count):
            session.extend([pt.user(f"do {number}"), pt.assistant("done")])
    return lambda: unpack(MemoryStore(), [*pack(store, "s")])


def streamed(format_: ModuleType, events: Callable[[int], list[dict[str, object]]]) -> Prepared:
    def prepared(count: int) -> Work:
        given = [json.dumps(event) for event in events(count)]

        def work() -> None:
            stream = format_.Stream()
            for event in given:
                stream.feed(event)
            assert stream.message.content or stream.incomplete

        return work

    return prepared


def _anthropic_blocks(count: int) -> list[dict[str, object]]:
    events: list[dict[str, object]] = [{"type": "message_start", "message": {"id": "m", "role": "assistant"}}]
    for index in range(count):
        block = {"type": "tool_use", "id": f"c{index}", "name": "f", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": "{}"}
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    return [*events, {"type": "message_stop"}]


def _chat_calls(count: int) -> list[dict[str, object]]:
    function = {"name": "f", "arguments": "{}"}
    calls = [{"index": n, "id": f"c{n}", "type": "function", "function": function} for n in range(count)]
    return [{"choices": [{"index": 0, "delta": {"content": "a", "tool_calls": [each]}}]} for each in calls]


def _gemini_arguments(count: int) -> list[dict[str, object]]:
    pieces = [{"jsonPath": f"$.a[{number}]", "stringValue": "x"} for number in range(count)]
    parts = [{"functionCall": {"name": "f", "partialArgs": [piece], "willContinue": True}} for piece in pieces]
    return [{"candidates": [{"content": {"parts": [part]}}]} for part in parts]


def _responses_items(count: int) -> list[dict[str, object]]:
    item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    return [{"type": "response.output_item.done", "output_index": n, "item": item} for n in range(count)]


OPERATIONS: dict[str, tuple[Prepared, int]] = {
    **{f"calls with one id, {each.VENDOR}": (calls_with_one_id(each), 800) for each in (openai_chat, openai_responses, anthropic, gemini)},
    "writes to a memory": (memory_written, 150),
    "merges into a memory": (memory_merged, 150),
    "forms of pages": (forms_written, 60),
    "turns that are undone": (undone, 150),
    "turns before a reset": (reset, 150),
    "turns before an erasure": (erased, 150),
    "packed messages": (packed, 300),
    "streamed blocks, anthropic": (streamed(anthropic, _anthropic_blocks), 1_000),
    "streamed calls, openai_chat": (streamed(openai_chat, _chat_calls), 1_000),
    "streamed arguments, gemini": (streamed(gemini, _gemini_arguments), 1_000),
    "streamed items, openai_responses": (streamed(openai_responses, _responses_items), 1_000),
}  # fmt: skip


# -- in a row: each goes through the whole session, so that they take the square of their number (docs/limits.md)


def undone_in_a_row(count: int) -> Work:
    session = _large()
    for number in range(count):
        session.extend([pt.user(f"do {number}"), pt.assistant("done")])
    return lambda: [session.undo() for _ in range(count)]


def reset_in_a_row(count: int) -> Work:
    session = _large()

    def work() -> None:
        for number in range(count):
            session.extend([pt.user(f"hello {number} " * 5), pt.assistant("b")])
            session.reset(f"the user said hello {number}", force=True)
            session.derive()

    return work


def erased_in_a_row(count: int) -> Work:
    session = _large()
    pages = [session.extend(step(call(number=number), f"line {number}\n" * 20))[-1] for number in range(2 * count)]
    return lambda: [session.erase(page) for page in pages[:count]]


def packed_forks(count: int) -> Work:
    """A session with a chain of so many ancestors."""
    store = MemoryStore()
    session = pt.Session.open(store, id="s")
    for number in range(count):
        session.append(pt.user(f"do {number}"))
        session = session.fork(f"f{number}")
    session.append(pt.user("the last"))
    return lambda: unpack(MemoryStore(), [*pack(store, session.reader.id)])


IN_A_ROW: dict[str, tuple[Prepared, int]] = {
    "undos": (undone_in_a_row, 150),
    "resets, each with a context": (reset_in_a_row, 60),
    "erasures": (erased_in_a_row, 40),
    "packed forks": (packed_forks, 40),
}
