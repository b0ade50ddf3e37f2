"""Fuzzing targets for what arrives in pieces: the events of a vendor's stream, and the lines of a packed session. An input is a JSON list of them."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import closing, suppress
from hashlib import blake2b
from typing import Any

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.journal.archive import pack, unpack
from pageturn.stores import MemoryStore

FORMATS = (anthropic, gemini, openai_chat, openai_responses)


def listed(data: bytes) -> list[Any] | None:
    """The items of an input; None if it is no JSON."""
    try:
        given = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, list) else [given]


def streamed(vendor: Any, events: list[Any]) -> bool:
    """Whether a stream of these events has a message, which then can be sent to every vendor and stored."""
    stream = vendor.Stream()
    for event in events:
        with suppress(pt.PageturnError):
            stream.feed(event)
    try:
        message = stream.message
    except pt.PageturnError:
        return False
    assert isinstance(stream.incomplete, tuple)
    for act in (*(each.dump for each in FORMATS), _stored):
        with suppress(pt.PageturnError):
            act([pt.user("go"), message])
    return bool(message.content)


def _stored(messages: list[pt.Message]) -> None:
    session = pt.Session.open(id="s")
    session.extend(messages)
    session.derive()


def unpacked(lines: list[Any]) -> bool:
    """Whether a file of these lines is read; then the session can be used. A right end is put behind them."""
    written = [json.dumps(_in_base64(line)).encode() for line in lines]
    digest = blake2b(b"".join(line + b"\n" for line in written), digest_size=16).hexdigest()
    objects = [line for line in lines if isinstance(line, dict)]
    digests = {line["digest"] for line in objects if isinstance(line.get("digest"), str)}
    count = {"records": sum("session" in line for line in objects), "blobs": len(digests)}
    with closing(MemoryStore()) as store:
        try:
            name = unpack(store, [*written, json.dumps({"end": {**count, "digest": digest}}).encode()])
        except pt.PageturnError:
            assert store.sessions() == [], "a file was refused and has left something behind"
            return False
        _used(store, name)
    return True


def _used(store: MemoryStore, name: str) -> None:
    session = pt.Session.open(store, id=name)
    acts: tuple[Callable[[], object], ...] = (
        session.derive,
        lambda: session.recall("error line"),
        lambda: [session.resolve(page) for page in session.reader.pages()],
        lambda: session.append(pt.user("go on")),
        lambda: [*pack(store, name)],
    )
    for act in acts:
        with suppress(pt.PageturnError):
            act()


def _in_base64(line: Any) -> Any:
    """A line as in the file; in an input, entries and texts are JSON, so that changes reach what is inside."""
    if not isinstance(line, dict):
        return line
    inner = {name: line[name] for name in ("body", "data") if name in line and not isinstance(line[name], str)}
    return line | {name: b64encode(_compact(value)).decode() for name, value in inner.items()}


def packed_lines() -> bytes:
    """A packed session as an input."""
    store = MemoryStore()
    session = pt.Session.open(store, id="parent", policy=pt.Paged(2_000))
    session.extend([pt.system("You are careful."), pt.user("Fix it.")])
    session.pin("Never push.")
    session.plan("ship", ["a", "b"])
    session = session.fork("s")
    call = pt.ToolCall(id="c", name="read", arguments='{"path": "src/a.py"}')
    for message in (pt.assistant("n", call), pt.tool_result(call, "line: error in src/a.py\n" * 30), pt.user("Go on.")):
        session.derive()
        session.append(message)
    session.inject(pt.ContextMessage.session("k", "note"))
    session.erase(session.reader.pages()[-1])
    lines = [json.loads(line) for line in pack(store, "s")][:-1]
    return _compact([_as_json(line) for line in lines])


def _as_json(line: dict[str, Any]) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for name in ("body", "data"):
        data = b64decode(line.get(name, ""))
        with suppress(ValueError):
            value = json.loads(data)
            inner |= {name: value} if not isinstance(value, str) and _compact(value) == data else {}
    return line | inner


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
