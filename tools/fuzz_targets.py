"""What is fuzzed: every way by which bytes from outside come in. A target says how far they came, and raises nothing but ours."""

import asyncio
import io
import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, closing, redirect_stderr, redirect_stdout, suppress
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import click

import pageturn as pt
from pageturn.apps.cli.main import cli
from pageturn.apps.gateway.config import load_config
from pageturn.apps.gateway.endpoints import Endpoint
from pageturn.apps.gateway.exchange import Ending, Exchange
from pageturn.apps.gateway.journaling import Journaling
from pageturn.apps.gateway.manage import Manage
from pageturn.apps.gateway.modes import Refuse, Send
from pageturn.apps.gateway.recalling import Recalling
from pageturn.apps.gateway.upstream import Cut
from pageturn.apps.gateway.watch import Watch
from pageturn.apps.importing import Report, import_file
from pageturn.apps.mcp import resources, server, settings_json, settings_toml
from pageturn.apps.mcp.proposing import PROPOSING
from pageturn.apps.mcp.sessions import opened
from pageturn.apps.mcp.settings_json import CannotEdit
from pageturn.apps.mcp.tools import READING
from pageturn.formats import anthropic, openai_chat, openai_responses
from pageturn.formats.task_log import read_task_log
from pageturn.routing import Decision, Logged
from pageturn.stores import MemoryStore, open_store
from pageturn.tokens.counters import counter_for
from pageturn.tokens.too_long import read_overflow
from pageturn.values.entries import Entry
from pageturn.values.json import is_too_deep
from pageturn.values.messages import File, Native, Text, Thinking
from pageturn.values.prompt import Prompt
from pageturn.values.proposals import Rejection
from tools.fuzz_streams import FORMATS, listed, packed_lines, streamed, unpacked

ROOT = Path(__file__).parents[1]
TYPES: tuple[Any, ...] = (
    *(
        pt.Message,
        Entry,
        pt.Page,
        pt.Proposal,
        pt.ContextMessage,
        pt.Plan,
        pt.Fault,
        pt.DerivePolicy,
        pt.Usage,
        Rejection,
    ),
    *(
        pt.RelevanceMeta,
        pt.DelegationState,
        pt.DelegationConfig,
        pt.BetaPosterior,
        Decision,
        Logged,
        list[pt.Message],
    ),
)


class Stage(IntEnum):
    """How far an input came."""

    REFUSED = 0  # by the first parser
    PARSED = 1  # but it is not what it should be
    ACCEPTED = 2


class Target(NamedTuple):
    """A name, what is run on each input, and inputs to begin with."""

    name: str
    run: Callable[[bytes], Stage]
    seeds: Callable[[], list[bytes]]
    is_json: bool = True  # whether inputs are changed as JSON, too
    words: tuple[bytes, ...] = ()  # where inputs are words with NUL between them: what may stand for one
    make: Callable[[random.Random], bytes] | None = None  # an input from nothing, where changed ones are mostly refused


def _stage(*, parsed: bool, accepted: bool) -> Stage:
    return Stage.ACCEPTED if accepted else Stage.PARSED if parsed else Stage.REFUSED


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return False
    return True


def _accepted(act: Callable[[], object]) -> bool:
    try:
        act()
    except pt.PageturnError:
        return False
    return True


# -- vendors' JSON


def _load_with(vendor: Any) -> Callable[[bytes], Stage]:
    def run(data: bytes) -> Stage:
        try:
            given = json.loads(data.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return Stage.REFUSED
        read = [_loads(load, given) for load in (vendor.load_request, vendor.load_messages, vendor.load_reply)]
        return _stage(parsed=True, accepted=any(read))

    return run


def _loads(load: Callable[[object], Any], given: object) -> bool:
    """Whether something is read; then it can be sent to every vendor and counted."""
    try:
        loaded = load(given)
    except pt.PageturnError:
        return False
    prompt = [loaded] if isinstance(loaded, pt.Message) else loaded
    for vendor in FORMATS:
        _accepted(lambda vendor=vendor: vendor.dump(prompt))
    for message in prompt.messages if isinstance(prompt, Prompt) else prompt:
        _accepted(lambda message=message: counter_for("claude-sonnet-4").message(message))
    return True


@cache
def _spoken() -> tuple[pt.Message, ...]:
    call = pt.ToolCall(
        id="c1", name="read", arguments='{"path": "src/a.py", "n": [1, {"b": null}]}', thought_signature="c2ln"
    )
    return (
        pt.system("You are careful."),
        pt.user(
            "Look.",
            pt.Image(url="data:image/png;base64,iVBORw0KGgo="),
            File(path="data:application/pdf;base64,JVBERg=="),
        ),
        pt.assistant(Thinking(text="hm", signature="c2ln"), "Yes.", call, usage=pt.Usage(input_tokens=5)),
        pt.tool_result(call, Text(text="line\n" * 3), pt.Image(url="https://a/b.png")),
        pt.assistant(Native(vendor="anthropic", item={"type": "server_tool_use", "name": "x", "input": {}}), "Done."),
    )


def _format_seeds(vendor: Any) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        dumped = vendor.dump(_spoken())
        whole = json.dumps(dumped, default=lambda data: data.decode("latin-1")).encode()
        inner = next(value for value in dumped.values() if isinstance(value, list))
        single = [json.dumps(each, default=lambda data: data.decode("latin-1")).encode() for each in inner]
        return [whole, *single, *_REPLIES[vendor.VENDOR]]

    return seeds


_REPLIES = {
    "anthropic": [
        b'{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"a","name":"f","input":{"a":1}}],"usage":{"input_tokens":3,"output_tokens":2}}'
    ],
    "gemini": [
        b'{"candidates":[{"content":{"role":"model","parts":[{"text":"x","thoughtSignature":"YQ=="},{"functionCall":{"name":"f","args":{"a":1}}}]}}],"usageMetadata":{"promptTokenCount":3},"modelVersion":"gemini-3"}',
        b'[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}]',
    ],
    "openai_chat": [
        b'{"choices":[{"index":0,"message":{"role":"assistant","content":"x","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}',
        b'[{"choices":[{"delta":{"role":"assistant","content":"a"}}]},{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}}]},{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}]',
    ],
    "openai_responses": [
        b'{"output":[{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}],"usage":{"input_tokens":3,"output_tokens":1}}',
        b'[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"x"}]',
    ],
}


def _stream_of(vendor: Any) -> Callable[[bytes], Stage]:
    def run(data: bytes) -> Stage:
        events = listed(data)
        if events is None:
            return Stage.REFUSED
        return _stage(parsed=True, accepted=streamed(vendor, events))

    return run


def _stream_seeds(vendor: Any) -> Callable[[], list[bytes]]:
    """A stream, and a whole answer, which is a stream of one event for some vendors."""

    def seeds() -> list[bytes]:
        events = [line for line in _EVENTS[vendor.VENDOR].split(b"\n") if line != b"[DONE]"]
        return [b"[" + b",".join(events) + b"]", *_REPLIES[vendor.VENDOR]]

    return seeds


def _unpack(data: bytes) -> Stage:
    lines = listed(data)
    return _stage(parsed=lines is not None, accepted=lines is not None and unpacked(lines))


# -- values


def _from_json(data: bytes) -> Stage:
    if not data:
        return Stage.REFUSED
    type_ = TYPES[data[0] % len(TYPES)]
    try:
        value = pt.from_json(type_, data[1:])
    except pt.PageturnError:
        return _stage(parsed=_is_json(data[1:]), accepted=False)
    try:
        written = pt.to_json(value)
    except pt.InvalidInput:
        assert is_too_deep(value), "what is read cannot be written"
        return Stage.PARSED
    again = pt.from_json(type_, written)
    assert pt.to_json(again) == written, "what is read is not what is written"
    return Stage.ACCEPTED


def _json_seeds() -> list[bytes]:
    golden = [path.read_bytes() for path in sorted((ROOT / "tests" / "golden").glob("*.json"))]
    return [bytes([number]) + each for each in golden for number in range(len(TYPES)) if _fits(TYPES[number], each)]


def _fits(type_: Any, data: bytes) -> bool:
    with suppress(pt.PageturnError):
        pt.from_json(type_, data)
        return True
    return False


# -- a session


def _session(data: bytes) -> Stage:
    try:
        messages = pt.from_json(list[pt.Message], data)
        session = pt.Session.open(id="s", policy=pt.Paged(2_000))
        session.extend(messages)
    except pt.PageturnError:
        return _stage(parsed=_is_json(data), accepted=False)
    for policy in (pt.Paged(2_000), pt.Reset(2_000), pt.Legacy()):
        session.choose(policy)
        for vendor in FORMATS:
            _accepted(lambda vendor=vendor: vendor.dump(session.derive(budget_tokens=2_000)))
        _accepted(lambda: session.append(pt.assistant("go on")))
    session.recall("line src yes")
    session.answer()
    return Stage.ACCEPTED


def _session_seeds() -> list[bytes]:
    long = [pt.user("Fix it."), *(each for n in range(12) for each in _step(n))]
    return [pt.to_json(list(_spoken())), pt.to_json(long)]


def _step(number: int) -> Iterator[pt.Message]:
    call = pt.ToolCall(
        id=f"c{number}", name="edit", arguments=json.dumps({"path": f"src/m{number}.py", "new": "x = 1"})
    )
    yield pt.assistant("n", call)
    yield pt.tool_result(call, f"line {number}: error in src/m{number}.py\n" * 30)


def _overflow(data: bytes) -> Stage:
    text = data.decode("utf-8", "surrogateescape")
    session = _refused()
    session.overflow(ValueError(text))
    _accepted(session.derive)
    session.overflow(None)
    found = read_overflow(text)
    return _stage(parsed=found is not None, accepted=found is not None and found.sent is not None)


@cache
def _refused() -> pt.Session:
    session = pt.Session.open(id="s")
    session.extend([pt.user("Fix it."), *_step(1)])
    session.derive()
    return session


def _overflow_seeds() -> list[bytes]:
    return [
        b"prompt is too long: 209051 tokens > 200000 maximum",
        b"This model's maximum context length is 128000 tokens. However, your messages resulted in 130021 tokens.",
        b"The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
        b"Requested tokens (5000) exceed context window of 4096",
        b"prompt contains 33,000 tokens, too large for model with 32,768 maximum context length",
        b"Rate limit reached: 30000 tokens per minute",
    ]


def _tasks(data: bytes) -> Stage:
    lines = data.split(b"\n")
    log = read_task_log(lines)
    pt.Session.open(id="s").plan(log)
    return _stage(parsed=log.damaged_lines < len(lines), accepted=log.speaks_of_goals)


def _task_seeds() -> list[bytes]:
    return [
        b'{"kind":"goal_set","objective":"ship","forbidden":["touch prod"],"success_criteria":["green"]}\n{"kind":"task_added","id":1,"content":"a"}\n{"kind":"task_status","id":1,"status":"done"}',
        b'{"kind":"goal_set","objective":"ship"}',
    ]


def _recall_tool(data: bytes) -> Stage:
    session = _refused().fork()
    session.derive()
    _accepted(
        lambda: session.append(
            pt.assistant(pt.ToolCall(id="r", name="recall", arguments=data.decode("utf-8", "replace")))
        )
    )
    session.answer()
    return _stage(parsed=_is_json(data), accepted=_is_json(data) and not session.reader.faults())


def _recall_seeds() -> list[bytes]:
    handles = [page.handle for page in _refused().reader.pages()]
    asked: list[dict[str, Any]] = [
        {"query": "error"},
        {"handle": handles[0]},
        {"handle": f"{handles[0]}..{handles[-1]}", "start": 1},
    ]
    return [json.dumps(each).encode() for each in asked]


# -- files


def _import(data: bytes) -> Stage:
    ending = (".jsonl", ".json", ".traj", ".jsonl.gz")[data[0] % 4] if data else ".json"
    file = _scratch() / f"log{ending}"
    file.write_bytes(data[1:])
    report = Report()
    with closing(MemoryStore()) as store:
        import_file(store, file, report)
        import_file(store, file, report)
    return _stage(parsed=bool(report.tools), accepted=report.messages > 0)


def _import_seeds() -> list[bytes]:
    samples = sorted((ROOT / "tests" / "apps" / "importing" / "samples").glob("*.*"))
    return [bytes([(".jsonl", ".json", ".traj").index(path.suffix)]) + path.read_bytes()[:20_000] for path in samples]


def _store(data: bytes) -> Stage:
    """Open a store some bytes of which were changed: three bytes say where, the fourth to what."""
    whole = bytearray(_whole_store())
    for at in range(0, min(len(data), 64) - 3, 4):
        place = int.from_bytes(data[at : at + 3], "big") % len(whole)
        whole[place] = data[at + 3]
    file = _scratch() / "agent.db"
    for old in _scratch().glob("agent.db*"):
        old.unlink()
    file.write_bytes(whole)
    stages = [Stage.REFUSED]
    _accepted(lambda: stages.extend(_used(file)))
    return stages[-1]


def _used(file: Path) -> Iterator[Stage]:
    with closing(open_store(f"sqlite:{file}?durability=normal&wait_seconds=0")) as store:
        yield Stage.PARSED
        session = pt.Session.open(store, id="s")
        yield Stage.ACCEPTED
        _accepted(lambda: list(session.reader.messages()))
        _accepted(session.derive)
        session.recall("error line")
        for page in session.reader.pages()[:3]:
            session.resolve(page)
        _accepted(lambda: session.append(pt.user("go on")))
        _accepted(session.waiting)
        session.checkpoint()


@cache
def _whole_store() -> bytes:
    file = _scratch() / "whole.db"
    with pt.Session.open(str(file), id="s", policy=pt.Paged(2_000)) as session:
        session.extend([pt.system("You are careful."), pt.user("Fix it.")])
        rule = session.pin("Never push to main, whatever anybody says.")
        session.write_back(pt.Proposal(field="structured", value="Never push to main.", evidence=(rule.handle,)))
        session.plan("ship", ["a", "b"])
        session.inject(pt.ContextMessage.session("k", "note"))
        for number in range(12):
            session.derive()
            session.extend(_step(number))
        session.recall("error")
    return file.read_bytes()


def _store_seeds() -> list[bytes]:
    return [b"\x00\x00\x10\xff", b"\x00\x20\x00\x00\x00\x40\x00\x41", bytes(range(64))]


# -- the gateway


def _gateway(data: bytes) -> Stage:
    """A request, in its first line, and what the upstream answers to it; sent twice. The first byte says the format and the mode."""
    if not data:
        return Stage.REFUSED
    path, format_ = _ENDPOINTS[data[0] % len(_ENDPOINTS)]
    make = _MODES[data[0] // len(_ENDPOINTS) % len(_MODES)]
    body, *answer = data[1:].split(b"\n")
    endpoint = Endpoint(format_.VENDOR, path, is_known=True, format=format_)
    mode = make()
    try:
        plans = [asyncio.run(_exchanged(mode, Exchange(endpoint, "POST", "", (), body), answer)) for _ in range(2)]
    finally:
        mode.close()
    tally = mode.tally()
    foreign = [reason for reason in tally.passed if reason.startswith("not stored") and not _is_ours(reason)]
    assert not foreign, foreign
    return _stage(parsed=_is_json(body), accepted=bool(tally.turns) and not any(isinstance(p, Refuse) for p in plans))


async def _exchanged(mode: Any, exchange: Exchange, answer: list[bytes]) -> object:
    plan = await mode.before(exchange)
    if isinstance(plan, Refuse):
        return plan
    with suppress(Cut):
        for _ in range(3):  # rounds of recalling
            exchange.begin_answer(200, ())
            for chunk in answer if len(answer) == 1 else [b"data: " + event + b"\n\n" for event in answer]:
                exchange.take(chunk)
                mode.on_chunk(exchange, chunk)
            if not isinstance(await mode.proceed(exchange), Send):
                break
    exchange.end(Ending.WHOLE)
    await mode.after(exchange)
    return plan


def _is_ours(reason: str) -> bool:
    return issubclass(getattr(pt, reason.rpartition(" ")[2], object), pt.PageturnError)


_ENDPOINTS: tuple[tuple[str, Any], ...] = (
    ("/messages", anthropic),
    ("/chat/completions", openai_chat),
    ("/responses", openai_responses),
)
_MODES: tuple[Callable[[], Any], ...] = (
    lambda: Recalling(":memory:", "recall", 4_000),
    lambda: Manage(":memory:", "manage", 4_000),
    lambda: Watch(Journaling(":memory:")),
)


def _gateway_seeds() -> list[bytes]:
    said = [pt.user("Fix it."), *(each for n in range(12) for each in _step(n)), pt.user("Go on.")]
    seeds = []
    for number, (_, format_) in enumerate(_ENDPOINTS):
        tool = {"name": "edit", "description": "edits", "input_schema": {"type": "object"}}
        body = {"model": "m", **format_.dump(Prompt(messages=tuple(said), host_tools=(tool,)))}
        request = json.dumps(body, default=lambda data: data.decode("latin-1")).encode()
        recalling = _REPLIES[format_.VENDOR][0].replace(b'"name":"f"', b'"name":"recall"')
        for answer in (*_REPLIES[format_.VENDOR][:1], recalling, _EVENTS[format_.VENDOR]):
            seeds += [bytes([number + 3 * mode]) + request + b"\n" + answer for mode in range(len(_MODES))]
    return seeds


_EVENTS = {
    "gemini": b"\n".join(
        [
            b'{"candidates":[{"content":{"role":"model","parts":[{"text":"a"},{"functionCall":{"name":"f","args":{"a":1}}}]},"citationMetadata":{"citations":[{"uri":"u"}]}}]}',
            b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a[0].b","stringValue":"q"}],"willContinue":true}}]}}]}',
            b'{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a[0].b","stringValue":"r"}]}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3}}',
        ]
    ),
    "anthropic": b"\n".join(
        [
            b'{"type":"message_start","message":{"id":"i","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}',
            b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
            b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}',
            b'{"type":"content_block_stop","index":0}',
            b'{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"recall","input":{}}}',
            b'{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\\"query\\": \\"error\\"}"}}',
            b'{"type":"content_block_stop","index":1}',
            b'{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}',
            b'{"type":"message_stop"}',
        ]
    ),
    "openai_chat": b"\n".join(
        [
            b'{"id":"i","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}',
            b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"recall","arguments":"{\\"query\\":"}}]}}]}',
            b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\\"error\\"}"}}]}}]}',
            b'{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}',
            b"[DONE]",
        ]
    ),
    "openai_responses": b"\n".join(
        [
            b'{"type":"response.created","response":{"id":"i","output":[]}}',
            b'{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f1","call_id":"a","name":"recall","arguments":""}}',
            b'{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f1","delta":"{\\"query\\": \\"error\\"}"}',
            b'{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f1","call_id":"a","name":"recall","arguments":"{\\"query\\": \\"error\\"}"}}',
            b'{"type":"response.completed","response":{"id":"i","output":[{"type":"function_call","id":"f1","call_id":"a","name":"recall","arguments":"{\\"query\\": \\"error\\"}"}],"usage":{"input_tokens":3,"output_tokens":1}}}',
        ]
    ),
}


# -- the MCP server


def _mcp(data: bytes) -> Stage:
    """Arguments of a tool, which the first byte names, or the address of a resource."""
    if not data:
        return Stage.REFUSED
    file = _scratch() / "mcp.db"
    file.write_bytes(_whole_store())
    place = server.Place(str(file))
    tools = (*READING, *PROPOSING)
    try:
        given = json.loads(data[1:].decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return Stage.REFUSED
    tool = tools[data[0] % len(tools)]
    answer = server._called(place, tool, given)  # noqa: SLF001 - what the protocol calls
    assert "the server could not answer" not in answer.text, answer.text
    address = given.get("address") if isinstance(given, dict) else given
    with opened(place.store, None) as sessions:
        _accepted(lambda: resources.read(sessions, address if isinstance(address, str) else ""))
        _accepted(lambda: resources.sessions_from(sessions, address if isinstance(address, str) else None))
    return _stage(parsed=True, accepted=not answer.is_error)


def _mcp_seeds() -> list[bytes]:
    page = _page_of_store()
    asked: list[dict[str, Any]] = [
        {"query": "error line", "session": "s", "start": 0},
        {"handle": page, "session": "s", "start": 1},
        {"session": "s", "start": 0},
        {"session": None},
        {"handle": page},
        {"text": "Never push.", "evidence": [page], "session": "s"},
        {"goal": "ship", "evidence": [page], "steps": ["a", "b"], "current": 1},
        {"address": f"pageturn://session/s/page/{page}?start=3"},
    ]
    tools = range(len((*READING, *PROPOSING)))
    return [bytes([number]) + json.dumps(each).encode() for each in asked for number in tools]


# -- settings


def _settings(data: bytes) -> Stage:
    """Files of settings: those of clients, into which the MCP server is written, and our own."""
    if not data:
        return Stage.REFUSED
    text = data[1:].decode("utf-8", "replace")
    if data[0] % 3 == 2:
        file = _scratch() / "config.toml"
        file.write_text(text, encoding="utf-8")
        return _stage(parsed=True, accepted=_accepted(lambda: load_config({}, file, {})))
    kind = (settings_json, settings_toml)[data[0] % 3]
    try:
        before = kind.server_in(text, "pageturn")
        edited = kind.with_server(text, "pageturn", {"command": "python", "args": ["-m", "pageturn"]})
        assert kind.server_in(edited, "pageturn") is not None
        left = kind.without_server(edited, "pageturn")
    except CannotEdit:
        return Stage.REFUSED
    assert kind.server_in(left, "pageturn") is None
    return _stage(parsed=True, accepted=before is None)


def _settings_seeds() -> list[bytes]:
    servers = {"other": {"command": "x", "args": ["a"]}, "pageturn": {"command": "old"}}
    toml = b'# mine\nmodel = \'m\'\n\n[mcp_servers.other]\ncommand = "x"\n\n[mcp_servers.pageturn]\ncommand = "old"\n[mcp_servers.pageturn.env]\nA = "1"\n'
    own = b'[gateway]\nmode = "manage"\nroom = 50000\nport = 0\nhost = "127.0.0.1"\n[upstream]\nopenai = "http://127.0.0.1:1/v1"\n'
    return [
        b"\x00" + json.dumps({"theme": "dark", "mcpServers": servers}, indent=2).encode(),
        b"\x00" + json.dumps({"mcpServers": {"other": {}}}).encode(),
        b"\x00{}",
        b"\x01" + toml,
        b"\x01[a]\nb = 1\n",
        b"\x02" + own,
    ]


# -- the command line


def _command_line(data: bytes) -> Stage:
    words = [word.decode("utf-8", "surrogateescape") for word in data.split(b"\0")]
    file = _scratch() / "cli.db"
    file.write_bytes(_whole_store())  # as it was, whatever the last command did to it
    names = {"STORE": str(file), "INTO": str(_scratch() / "into.db"), "PAGE": _page_of_store()}
    for name, log in _logs().items():
        names[name] = str(_scratch() / f"{name}.jsonl")
        Path(names[name]).write_bytes(data if log is None else log)
    given = [names.get(word, word) for word in words]
    if any(
        word.startswith((*("-j", "--jobs", "--turns", "--generated"), *("--out", "--svg", "--png", "--url", "--c")))
        for word in given
    ):
        return Stage.REFUSED  # what would read or write elsewhere, ask the network, or take as long as was asked for
    if any("/" in word or ".." in word for word in given if word not in names.values()):
        return Stage.REFUSED  # a place of this machine; everything else lies in a folder of our own
    files = {names[name] for name in ("STORE", *_logs())}
    if given[:1] in _ELSEWHERE or (given[:1] in (["import"], ["compactions"]) and not files & set(given)):
        return Stage.REFUSED
    if given[:1] == ["mcp"] and given[1:2] not in _EDITING and not {"-h", "--help"} & set(given):
        return Stage.REFUSED
    _clear(home := _scratch() / "home")
    ours = dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"), str(home))
    silent = io.TextIOWrapper(io.BytesIO(), errors="replace")
    try:
        with patch.dict(os.environ, ours), chdir(home), redirect_stdout(silent), redirect_stderr(silent):
            cli(given, standalone_mode=False)
    except click.UsageError:
        return Stage.REFUSED
    except (pt.PageturnError, click.ClickException, SystemExit, OSError):  # as `main` takes them
        return Stage.PARSED
    return Stage.ACCEPTED


def _clear(folder: Path) -> None:
    """An empty folder, whatever the last command left in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


_ELSEWHERE = (
    ["demo"],
    ["replay"],
    ["trial"],
    ["serve"],
    ["run"],
    ["inspect"],
)  # which take long, listen, or start programs
_EDITING = (["install"], ["uninstall"])  # of the commands of the MCP server, which else listens


@cache
def _logs() -> dict[str, bytes | None]:
    """Files that commands read, by what stands for them in a line: the input itself, a recorded session, results of a replay."""
    chat = ROOT / "tests" / "apps" / "importing" / "samples" / "claude_code.jsonl"
    results = ROOT / "tests" / "lab" / "example-results.jsonl"
    return {"LOG": None, "CHAT": chat.read_bytes(), "RESULTS": results.read_bytes()}


@cache
def _commands() -> tuple[tuple[tuple[str, ...], click.Command], ...]:
    def inside(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
        if not isinstance(command, click.Group):
            yield path, command
            return
        for name, inner in command.commands.items():
            yield from inside(inner, (*path, name))

    return tuple(each for each in inside(cli, ()) if [each[0][0]] not in _ELSEWHERE and each[0] != ("mcp", "serve"))


def _line(chance: random.Random) -> bytes:
    """A line that a command may take: its arguments, and some of its options, each with a value of its type or, seldom, any word."""
    path, command = chance.choice(_commands())
    words = [word.encode() for word in path]
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            words.append(_value(parameter, chance))
        elif chance.random() < 0.3 and parameter.name not in _UNSAFE:
            words.append(parameter.opts[-1].encode())
            words += [] if getattr(parameter, "is_flag", False) else [_value(parameter, chance)]
    return b"\0".join(words)


_UNSAFE = ("out", "svg", "png", "url", "jobs", "turns", "generated", "claude_code", "codex")
_PLAUSIBLE: dict[str, tuple[bytes, ...]] = {
    "store": (b"STORE",),
    "handle": (b"PAGE",),
    "handles": (b"PAGE",),
    "session": (b"s",),
    "query": (b"error", b"line src"),
    "paths": (b"CHAT", b"LOG", b"RESULTS"),
    "path": (b"LOG", b"CHAT"),
    "results": (b"RESULTS", b"LOG"),
    "into": (b"INTO",),
    "model": (b"gpt-5", b"claude-sonnet-4", b"unknown"),
}


def _value(parameter: click.Parameter, chance: random.Random) -> bytes:
    if chance.random() < 0.1:
        return chance.choice(_WORDS)
    if isinstance(parameter.type, click.Choice):
        return str(chance.choice(list(parameter.type.choices))).encode()
    if parameter.type.name.startswith(("integer", "float")):
        return chance.choice((b"0", b"1", b"2", b"5", b"2000", b"100000"))
    return chance.choice(_PLAUSIBLE.get(parameter.name or "", _WORDS))


@cache
def _page_of_store() -> str:
    _whole_store()
    with pt.Session.open(str(_scratch() / "whole.db"), id="s") as session:
        return session.reader.pages()[2].handle


def _command_seeds() -> list[bytes]:
    lines = [
        *(f"{name} STORE" for name in ("sessions", "show", "context", "diff", "doctor", "vacuum", "export")),
        *(
            "recall STORE error -n 3",
            "page show STORE PAGE --level full",
            "why STORE PAGE",
            "summarize STORE",
        ),
        *("context STORE --budget 2000 --model gpt-5 --rows 3 --text --internal", "show STORE -s s --scope team"),
        *("import CHAT --into INTO", "import LOG --into INTO --scope team", "compactions CHAT"),
        *("flip RESULTS", "report RESULTS", "report LOG"),
        *(
            "route stats STORE",
            "route explain STORE x",
            "route replay STORE",
            "route prune STORE --keep 3",
            "route import STORE LOG",
        ),
    ]
    return [line.replace(" ", "\0").encode() for line in lines]


_WORDS = (
    *b"STORE LOG CHAT RESULTS INTO PAGE s p3-aaaa error nothing full pointer paged team gpt-5 - -- -s -n -h --help --version".split(),
    *b"0 1 -1 2000 1e9 99999999999999999999 nan --scope --budget --model --rows --text --internal --level".split(),
    *b"--limit --session --turn --keep --days --abandoned --repair --yes --into --mode --window --dialect --key".split(),
    *(b"", b"\x1b[2J", b"\xed\xa0\x80"),
)


@cache
def _scratch() -> Path:
    fast = Path("/dev/shm")  # noqa: S108
    return Path(
        tempfile.mkdtemp(prefix="pageturn-fuzz-", dir=fast if fast.is_dir() and os.access(fast, os.W_OK) else None)
    )


TARGETS = {
    target.name: target
    for target in (
        *(Target(vendor.VENDOR, _load_with(vendor), _format_seeds(vendor)) for vendor in FORMATS),
        *(Target(f"stream_{each.VENDOR}", _stream_of(each), _stream_seeds(each)) for each in FORMATS),
        Target("unpack", _unpack, lambda: [packed_lines()]),
        Target("from_json", _from_json, _json_seeds),
        Target("import", _import, _import_seeds),
        Target("session", _session, _session_seeds),
        Target("tasks", _tasks, _task_seeds),
        Target("recall_tool", _recall_tool, _recall_seeds),
        Target("overflow", _overflow, _overflow_seeds, is_json=False),
        Target("gateway", _gateway, _gateway_seeds),
        Target("mcp", _mcp, _mcp_seeds),
        Target("settings", _settings, _settings_seeds, is_json=False),
        Target("store", _store, _store_seeds, is_json=False),
        Target("command_line", _command_line, _command_seeds, is_json=False, words=_WORDS, make=_line),
    )
}
