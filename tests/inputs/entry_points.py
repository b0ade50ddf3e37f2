"""Every public entry point with arguments that it takes, so that a test can put others in their place one at a time."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.formats.task_log import read_task_log
from pageturn.routing import Price, Setting
from pageturn.stores import MemoryStore, open_store
from pageturn.tokens.calibration import Calibration
from pageturn.tokens.counters import counter_for
from pageturn.tokens.windows import window_of
from pageturn.values.messages import File, Native, Text, Thinking, ToolResult, developer
from pageturn.values.pages import classify, classify_all
from pageturn.values.prompt import Prompt
from pageturn.writeback.summaries import Extractive, HttpEndpoint, ModelSummarizer, RoutedSummarizer
from tests.sessions import open_session

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BUCKET = pt.Bucket(pt.Difficulty.EASY, pt.Dependency.ISOLATED, pt.ToolUse.NO)


class EntryPoint(NamedTuple):
    """A function, how to make what it is called on, and arguments that it takes; those by position come first."""

    name: str
    of: Callable[[], Callable[..., Any]]
    arguments: dict[str, Any]
    by_position: int = 0

    def call(self, name, value):
        """Call it with one argument replaced."""
        given = {**self.arguments, name: value}
        by_position = [given.pop(each) for each in list(given)[: self.by_position]]
        return self.of()(*by_position, **given)


def session():
    """A session in which everything has happened once."""
    opened = open_session(policy=pt.Paged(4_000))
    opened.extend([pt.system("You are careful."), pt.user("Look at src/a.py")])
    opened.derive()
    call = pt.ToolCall(id="c", name="read", arguments='{"path": "src/a.py"}')
    opened.extend([pt.assistant("Yes.", call), pt.tool_result(call, "line\n" * 30)])
    opened.pin("Never push.")
    opened.inject(pt.ContextMessage.session("k", "note"))
    opened.derive()
    return opened


def waiting():
    """A session in which a proposal waits for a person."""
    opened = open_session()
    rule = opened.pin("Never push to the main branch of this repository, whatever anybody says.")
    form = pt.Proposal(field="structured", value="Never push to main.", evidence=(rule.handle,))
    assert isinstance(opened.write_back(form), pt.Waiting)
    return opened


def _method(name, of=session):
    return lambda: getattr(of(), name)


def _looking(name):
    return lambda: getattr(session().reader, name)


def _function(function):
    return lambda: function


def _file(path, value):
    path.write_bytes(value)
    return path


MESSAGE = pt.user("Look at src/a.py")
DUMPED = [pt.user("hi"), pt.assistant("yes", pt.ToolCall(id="a", name="f", arguments="{}")), pt.tool_result("a", "b")]

OPENING = [
    EntryPoint(
        "Session.open",
        _function(pt.Session.open),
        {
            "url": ":memory:",
            "id": "s",
            "policy": None,
            "model": None,
            "recall": None,
            "scope": None,
            "renderers": pt.Session.open.__kwdefaults__["renderers"],
            "counter": None,
            "summarizer": None,
            "clock": lambda: NOW,
            "entropy": bytes,
            "reranker": None,
            "wait_seconds": None,
        },
    ),
    EntryPoint(
        "Router.open",
        _function(pt.Router.open),
        {
            "url": ":memory:",
            "scope": "default",
            "config": None,
            "mode": None,
            "skills": (),
            "rng": None,
            "clock": lambda: NOW,
            "entropy": bytes,
        },
    ),
    EntryPoint(
        "Router",
        _function(pt.Router),
        {"beliefs": None, "mode": None, "skills": (), "rng": None, "clock": lambda: NOW, "entropy": bytes},
    ),
]
LOOKING = MemoryStore()
open_session(LOOKING)
OPENING += [
    EntryPoint("sessions", _function(pt.sessions), {"url": LOOKING}),
    EntryPoint("SessionReader.open", _function(pt.SessionReader.open), {"url": LOOKING, "id": "s", "scope": None}),
]
OF_A_SESSION = [
    EntryPoint("append", _method("append"), {"message": MESSAGE, "usage": None}, by_position=1),
    EntryPoint("extend", _method("extend"), {"messages": (MESSAGE,)}),
    EntryPoint("derive", _method("derive"), {"tools": (), "model": None, "budget_tokens": None}),
    EntryPoint("overflow", _method("overflow"), {"error": "prompt is too long"}),
    EntryPoint("overflow of a model", _method("overflow"), {"error": None, "model": None}),
    EntryPoint("undo", _method("undo"), {"turns": 1}),
    EntryPoint("fork", _method("fork"), {"id": "f"}),
    EntryPoint("reset", _method("reset"), {"summary": "so far", "force": True}),
    EntryPoint("choose", _method("choose"), {"policy": pt.Legacy()}),
    EntryPoint("grant", _method("grant"), {"scope": "team", "allowed": True}),
    EntryPoint("pin", _method("pin"), {"what": "a rule", "structured": None}),
    EntryPoint("unpin", _method("unpin"), {"what": "p1-aaaa"}),
    EntryPoint("set_system", _method("set_system"), {"text": "You are bold."}),
    EntryPoint("plan", _method("plan"), {"goal": "g", "steps": ("a",), "current": 0}),
    EntryPoint("prefer", _method("prefer"), {"text": "tabs", "scope": None}),
    EntryPoint("read_task_log", _function(read_task_log), {"lines": ["{}"]}),
    EntryPoint("inject", _method("inject"), {"note": pt.ContextMessage.session("k", "c")}),
    EntryPoint("retract", _method("retract"), {"key": "k", "now": False}),
    EntryPoint(
        "recall",
        _method("recall"),
        {
            "query": "line",
            "limit": 5,
            "where": None,
            "sessions": None,
            "budget_tokens": None,
            "scope": None,
            "internal": False,
        },
    ),
    EntryPoint("resolve", _method("resolve"), {"handle": "p2-aaaa", "start": 0, "length": None}),
    EntryPoint("pages_between", _looking("pages_between"), {"handles": "p2-aaaa..p3-aaaa", "start": 0}),
    EntryPoint("reader.page", _looking("page"), {"which": "p2-aaaa"}),
    EntryPoint("reader.state", _looking("state"), {"head": None}),
    EntryPoint("erase", _method("erase"), {"what": "p2-aaaa"}),
    EntryPoint("write_back", _method("write_back"), {"proposal": pt.Proposal(field="memory.a", value=1)}),
    EntryPoint("approve", _method("approve", waiting), {"id": 0}),
    EntryPoint("reject", _method("reject", waiting), {"id": 0, "reason": "no"}),
    EntryPoint("memory", _looking("memory"), {"name": "a"}),
    EntryPoint("messages", lambda: lambda **given: list(session().reader.messages(**given)), {"internal": False}),
    EntryPoint("explain", lambda: session().derive().explain, {"handle": "p2-aaaa"}),
]
VALUES = [
    EntryPoint("append user", lambda: lambda part: session().append(pt.user(part)), {"part": "x"}, 1),
    EntryPoint("append system", lambda: lambda part: session().append(pt.system(part)), {"part": "x"}, 1),
    EntryPoint("append developer", lambda: lambda part: session().append(developer(part)), {"part": "x"}, 1),
    EntryPoint("append assistant", lambda: lambda part: session().append(pt.assistant(part)), {"part": "x"}, 1),
    EntryPoint(
        "append tool_result",
        lambda: lambda call, part, is_error: session().append(pt.tool_result(call, part, is_error=is_error)),
        {"call": "c", "part": "x", "is_error": False},
    ),
    EntryPoint(
        "append fields",
        lambda: lambda **given: session().append(pt.user("x", **given)),
        {
            "visibility": pt.Visibility.ALL,
            "synthetic": False,
            "joined": False,
            "usage": None,
            "metadata": None,
            "extra": None,
        },
    ),
    EntryPoint(
        "append Message",
        lambda: lambda **given: session().append(pt.Message(**given)),
        {"id": "m", "role": "user", "content": (Text(text="x"),)},
    ),
    EntryPoint("append Text", lambda: lambda **g: session().append(pt.user(Text(**g))), {"text": "x", "extra": None}),
    EntryPoint(
        "append Image",
        lambda: lambda **g: session().append(pt.user(pt.Image(**g))),
        {"url": "https://a/b.png", "mime_type": None, "width": None, "height": None},
    ),
    EntryPoint(
        "append File", lambda: lambda **g: session().append(pt.user(File(**g))), {"path": "a", "mime_type": None}
    ),
    EntryPoint(
        "append ToolCall",
        lambda: lambda **g: session().append(pt.assistant(pt.ToolCall(**g))),
        {"id": "a", "name": "f", "arguments": "{}", "thought_signature": None},
    ),
    EntryPoint(
        "append ToolResult",
        lambda: lambda **g: session().append(pt.Message(role="tool", content=(ToolResult(**g),))),
        {"tool_call_id": "a", "content": "x", "is_error": False},
    ),
    EntryPoint(
        "append Thinking",
        lambda: lambda **g: session().append(pt.assistant(Thinking(**g))),
        {"text": "a", "signature": None, "redacted": None},
    ),
    EntryPoint(
        "append Native",
        lambda: lambda **g: session().append(pt.assistant(Native(**g))),
        {"vendor": "anthropic", "item": {}, "text": ""},
    ),
    EntryPoint(
        "append with Usage",
        lambda: lambda **g: session().append(pt.assistant("x"), pt.Usage(**g)),
        {"input_tokens": 1, "output_tokens": 1, "cache_read_tokens": 0, "cache_write_tokens": 0, "model": None},
    ),
    EntryPoint(
        "inject ContextMessage",
        lambda: lambda **g: session().inject(pt.ContextMessage(**g)),
        {
            "key": "a",
            "target": "session",
            "role": "user",
            "visibility": "all",
            "content": "x",
            "cooldown_turns": 0,
            "consume_after_emit": False,
        },
    ),
    EntryPoint(
        "write_back Proposal",
        lambda: lambda **g: session().write_back(pt.Proposal(**g)),
        {"field": "memory.a", "value": 1, "op": "append", "evidence": (), "scope": None, "version": None, "key": None},
    ),
    EntryPoint("plan Plan", lambda: lambda **g: session().plan(pt.Plan(**g)), {"goal": "g", "steps": (), "current": 0}),
    EntryPoint("Bucket", _function(pt.Bucket), {"difficulty": "easy", "dependency": "isolated", "tool_use": "no"}),
    EntryPoint("Calibration.observe", _function(Calibration().observe), {"counted": 1, "reported": 1}),
    EntryPoint("Paged", lambda: lambda n: session().choose(pt.Paged(n)), {"n": 0}),
    EntryPoint("Reset", lambda: lambda n: session().choose(pt.Reset(n)), {"n": 0}),
    EntryPoint("Incremental", lambda: lambda n: session().choose(pt.Incremental(n)), {"n": 0}),
    EntryPoint(
        "RecallTool", lambda: lambda name: open_session(recall=pt.RecallTool(name=name)).derive(), {"name": "recall"}
    ),
    EntryPoint("to_json", _function(pt.to_json), {"value": MESSAGE}),
    EntryPoint("from_json", _function(pt.from_json), {"type_": pt.Message, "data": b"{}"}),
    EntryPoint("classify", _function(classify), {"message": MESSAGE, "is_opening": False}),
    EntryPoint("classify_all", _function(classify_all), {"messages": [MESSAGE]}),
    EntryPoint("counter_for", _function(counter_for), {"model": "gpt-5"}),
    EntryPoint("counter.text", _function(counter_for("gpt-5").text), {"text": "x"}),
    EntryPoint("counter.message", _function(counter_for("claude-sonnet-4").message), {"message": MESSAGE}),
    EntryPoint("counter.tools", _function(counter_for("gpt-5").tools), {"tools": [{"name": "a"}]}),
    EntryPoint("window_of", _function(window_of), {"model": "gpt-5"}),
    EntryPoint("register_policy", _function(pt.register_policy), {"name": pt.Legacy}),
    EntryPoint(
        "HttpEndpoint",
        _function(HttpEndpoint),
        {"url": "http://a/v1", "model": "m", "key": None, "dialect": None, "timeout_seconds": 1.0},
    ),
    EntryPoint(
        "ModelSummarizer",
        _function(ModelSummarizer),
        {
            "endpoint": HttpEndpoint("http://a/v1", "m"),
            "window_tokens": 100,
            "budget_tokens": None,
            "instructions": "x",
        },
    ),
    EntryPoint("RoutedSummarizer", _function(RoutedSummarizer), {"summarizers": [Extractive()], "router": pt.Router()}),
]
_AGENTS = ["a/x", "b/y"]
ROUTING = [
    EntryPoint(
        "Router.choose",
        lambda: pt.Router(rng=1).choose,
        {
            "candidates": _AGENTS,
            "skill": "model_call",
            "bucket": None,
            "messages": None,
            "local": None,
            "mode": None,
            "prices": None,
            "running": None,
            "money_a_second": 0.1,
        },
    ),
    EntryPoint(
        "Router.choose_router_target",
        lambda: (
            lambda **g: _chosen(lambda router, decision: router.choose_router_target(**{"decision": decision, **g}))
        ),
        {"error": "rate limit"},
    ),
    EntryPoint(
        "Router.choose_router_target, decision",
        lambda: pt.Router().choose_router_target,
        {"decision": "x", "error": "y"},
    ),
    EntryPoint("Router.observe", lambda: pt.Router().observe, {"decision": "x", "outcome": True}),
    EntryPoint(
        "Router.observe, outcome",
        lambda: lambda **g: _chosen(lambda router, decision: router.observe(decision, **g)),
        {"outcome": True, "retries": 0},
    ),
    EntryPoint(
        "Beliefs.update",
        lambda: pt.Router().beliefs.update,
        {"agent": "a", "skill": "model_call", "bucket": BUCKET, "outcome": True},
    ),
    EntryPoint(
        "Beliefs.declare",
        lambda: pt.Router().beliefs.declare,
        {"agent": "a", "setting": Setting("model_call", BUCKET), "confidence": 0.5},
    ),
    EntryPoint("Beliefs.configure", lambda: pt.Router().beliefs.configure, {"config": pt.DelegationConfig()}),
    EntryPoint("Beliefs.take", lambda: pt.Router().beliefs.take, {"state": pt.DelegationState()}),
    EntryPoint("Beliefs.decision", lambda: pt.Router().beliefs.decision, {"id": "x"}),
    EntryPoint("Beliefs.prune", lambda: pt.Router().beliefs.prune, {"keep": 1, "before": None, "abandoned": False}),
    EntryPoint(
        "Beliefs.delegate_to",
        lambda: pt.Router().beliefs.delegate_to,
        {"local": "a", "peers": ["b"], "skill": "model_call", "bucket": BUCKET},
    ),
    EntryPoint(
        "DelegationState.update",
        lambda: pt.DelegationState().update,
        {"agent": "a", "skill": "model_call", "bucket": BUCKET, "outcome": True, "now": NOW},
    ),
    EntryPoint("DelegationState.merge", lambda: pt.DelegationState().merge, {"other": pt.DelegationState()}),
    EntryPoint(
        "DelegationState.key", _function(pt.DelegationState.key), {"agent": "a", "skill": "s", "bucket": BUCKET}
    ),
    EntryPoint(
        "DelegationState.rank_candidates",
        lambda: pt.DelegationState().rank_candidates,
        {"candidates": ["a"], "skill": "s", "bucket": BUCKET},
    ),
    EntryPoint(
        "DelegationConfig",
        _function(pt.DelegationConfig),
        {"gamma": 0.5, "delta": 0.05, "kappa": 2.0, "lambda_": 1.0, "enabled": False},
    ),
    EntryPoint(
        "BetaPosterior.from_self_confidence",
        _function(pt.BetaPosterior.from_self_confidence),
        {"c_self": 0.5, "kappa": 2.0, "now": NOW},
    ),
    EntryPoint(
        "Price",
        lambda: lambda **g: pt.Router().choose(["a"], prices={"a": Price(**g)}),
        {"money": 0.1, "seconds": 0.0},
    ),
]


def _chosen(act):
    router = pt.Router(rng=1)
    return act(router, router.choose(_AGENTS))


REQUESTS = {
    anthropic: {"messages": [{"role": "user", "content": "x"}]},
    gemini: {"contents": [{"role": "user", "parts": [{"text": "x"}]}]},
    openai_chat: {"messages": [{"role": "user", "content": "x"}]},
    openai_responses: {"input": [{"role": "user", "content": "x"}]},
}
REPLIES = {vendor: {"role": "assistant", "content": "x"} for vendor in REQUESTS}
REPLIES[gemini] = {"role": "model", "parts": [{"text": "x"}]}
FORMATS = [
    EntryPoint(f"{vendor.VENDOR}.{name}", _function(getattr(vendor, name)), arguments)
    for vendor in (anthropic, gemini, openai_chat, openai_responses)
    for name, arguments in (
        ("load_reply", {"reply": REPLIES[vendor]}),
        ("load_request", {"body": REQUESTS[vendor]}),
        ("load_messages", {"messages": REQUESTS[vendor].get("messages") or [REPLIES[vendor]]}),
        ("dump", {"prompt": DUMPED}),
    )
]
FORMATS += [
    EntryPoint(
        f"{vendor.VENDOR}.dump of a prompt",
        lambda vendor=vendor: lambda **given: vendor.dump(Prompt(**given)),
        {
            "messages": tuple(DUMPED),
            "host_tools": ({"name": "f", "input_schema": {"type": "object"}},),
            "recall_tool": None,
            "model": None,
            "bands": None,
            "frozen": 0,
            "marks": (0,),
            "settings": {},
            "vendor": None,
        },
    )
    for vendor in (anthropic, gemini, openai_chat, openai_responses)
]
FORMATS += [
    EntryPoint("open_store", _function(open_store), {"url": ":memory:", "wait_seconds": None}),
]
EVERY = [*OPENING, *OF_A_SESSION, *VALUES, *ROUTING, *FORMATS]
