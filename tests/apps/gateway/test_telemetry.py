"""What operators see: OTLP decoded by the official messages, Prometheus text by the official parser, logs as JSON; and no key in any of them."""

import asyncio
import io
import json
import logging
import sqlite3
import threading
import time
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client.parser import text_string_to_metric_families

from pageturn.apps.gateway.telemetry.bounded import Bounded
from pageturn.apps.gateway.telemetry.facts import ModelCall, read_note
from pageturn.apps.gateway.telemetry.prometheus import Prometheus
from pageturn.values.usage import Usage
from tests.apps.gateway.agent import Agent, Provider, large
from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES, reply
from tests.apps.gateway.upstream import Reply

KEY = "sk-canary-0123456789abcdef"


class Collector:
    """What came by OTLP."""

    def __init__(self):
        self.traces, self.metrics = [], []

    @property
    def spans(self):
        return [span for each in self.traces for r in each.resource_spans for s in r.scope_spans for span in s.spans]

    @property
    def points(self):
        found = {}
        for each in self.metrics[-1:]:  # which count from the beginning
            for metric in (m for r in each.resource_metrics for s in r.scope_metrics for m in s.metrics):
                kind = metric.WhichOneof("data")
                found.setdefault(metric.name, []).extend(getattr(metric, kind).data_points)
        return found


@pytest.fixture
def collector():
    state = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/v1/traces":
                state.traces.append(ExportTraceServiceRequest.FromString(body))
            else:
                state.metrics.append(ExportMetricsServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def attributes(span):
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def families(ask, gateway, headers=()):
    answer = ask(gateway, "GET", "/metrics", None, headers)
    assert answer.status == 200
    return {each.name: each for each in text_string_to_metric_families(answer.read().decode())}


def value(families, name, **labels):
    family = families[name]
    return sum(each.value for each in family.samples if each.name in (name, f"{name}_total") and labels.items() <= each.labels.items())  # fmt: skip


def body(path, text="Hello.", **more):
    key = "input" if path == RESPONSES else "messages"
    return json.dumps({"model": "gpt-5", key: [{"role": "user", "content": text}], **more}).encode()


@pytest.mark.parametrize("path", [ANTHROPIC, CHAT, RESPONSES])
def test_a_call_is_a_span_by_the_conventions(started, ask, upstream, collector, path):
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    headers = {"x-pageturn-session": "talk", "traceparent": parent, "authorization": f"Bearer {KEY}"}
    with started(otlp=collector.url) as gateway:
        answer = ask(gateway, "POST", path, body(path, stream=True), headers)
        answer.read()
    (span,) = collector.spans
    told = attributes(span)
    assert span.kind == Span.SPAN_KIND_CLIENT
    assert span.name == "chat gpt-5"
    assert span.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert 0 < span.end_time_unix_nano - span.start_time_unix_nano < 30e9
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.provider.name"] == ("anthropic" if path == ANTHROPIC else "openai")
    assert (told["gen_ai.request.model"], told["gen_ai.conversation.id"]) == ("gpt-5", "talk")
    assert told["gen_ai.request.stream"] is True
    assert told["gen_ai.usage.input_tokens"] > told["gen_ai.usage.cache_read.input_tokens"] > 0
    assert told["gen_ai.usage.output_tokens"] > 0
    assert told["gen_ai.response.time_to_first_chunk"] > 0
    assert told["pageturn.mode"] == "watching"
    assert told["pageturn.request_id"] == answer.getheader("x-pageturn-request-id")
    assert f"http://{told['server.address']}:{told['server.port']}" == upstream.url
    points = collector.points
    assert sum(each.as_int for each in points["gen_ai.client.inference.usage.input_tokens"]) == told["gen_ai.usage.input_tokens"]  # fmt: skip
    assert sum(each.count for each in points["gen_ai.client.inference.duration"]) == 1


def test_an_error_is_an_error_and_folds_are_events(started, ask, upstream, collector):
    upstream.answer = Provider(CHAT)
    agent = Agent(CHAT)
    agent.says("Find the bug.")
    with started(mode="manage", room=4_000, otlp=collector.url) as gateway:
        agent.works(ask, gateway, 20)
        upstream.answer = lambda _: Reply([b"{}"], status=529)
        ask(gateway, "POST", CHAT, agent.body()).read()
    last = collector.spans[-1]
    assert (last.status.code, attributes(last)["error.type"]) == (2, "529")
    folded = [span for span in collector.spans if [event.name for event in span.events] == ["pageturn.fold"]]
    assert folded
    assert all(attributes(span)["gen_ai.conversation.compacted"] for span in folded)
    (points,) = [collector.points["pageturn.folds"]]
    assert max(each.as_int for each in points) == len(folded)


class Repeating(Provider):
    """A model that reads its first file again at the end."""

    def reply(self, asked, body):
        self.calls += 1
        path = json.dumps({"path": f"file_{1 if self.calls > 14 else self.calls}.py"})
        return self.answered("Again.", (f"toolu_{self.calls:016}", "read_file", path), self.calls)


def test_a_span_of_a_derived_context_has_its_budget_and_its_faults(started, ask, upstream, collector):
    upstream.answer = Repeating(CHAT)
    agent = Agent(CHAT)
    agent.says("Find the bug.")
    with started(mode="manage", room=4_000, otlp=collector.url) as gateway:
        for number in range(17):
            for call in agent.calls(agent.turn(ask, gateway)):
                agent.brings(call, large(0 if number >= 14 else number))
    derived = [told for span in collector.spans if (told := attributes(span)).get("pageturn.mode") == "managed"]
    assert derived
    assert all(told["pageturn.tokens.sent"] <= told["pageturn.tokens.budget"] for told in derived)
    assert any(told.get("pageturn.faults.duplicate_tool", 0) > 0 for told in derived)


def test_a_span_says_where_the_gateway_was_unsure(started, ask, upstream, collector):
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    with started(mode="manage", otlp=collector.url) as gateway:
        kept = body(RESPONSES, conversation="conv_1")
        ask(gateway, "POST", RESPONSES, kept, {"x-pageturn-session": "talk"}).read()
    (span,) = collector.spans
    assert attributes(span)["pageturn.unsure"] == "the provider keeps the conversation"


def test_a_collector_that_is_gone_costs_the_client_nothing(started, ask, upstream):
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    with started(otlp="http://127.0.0.1:1") as gateway:
        for _ in range(3):
            assert ask(gateway, "POST", CHAT, body(CHAT)).status == 200


def model_call(**told):
    usual = dict.fromkeys(ModelCall._fields)
    return ModelCall(
        **{
            **usual,
            "address": "there",
            "status": 200,
            "seconds": 1.0,
            "note": {},
            "session": "talk",
            "began": 0,
            **told,
        }
    )


@pytest.mark.parametrize("other", [{"model": "haiku"}, {"tenant": "b"}, {"session": "work"}, {"address": "elsewhere"}])
def test_a_cache_is_not_broken_by_another_prompt(other):
    """A small model asked on the side, another tenant with the same name, or a routed switch has a cache of its own."""
    counts = Prometheus(1)

    def calls(at, tokens, cached, **told):
        usage = Usage(input_tokens=tokens, cache_read_tokens=cached)
        counts.model_call(model_call(**{"model": "opus", "tenant": "a", **told}, began=at * 10**9, usage=usage))

    def broken():
        shown = asyncio.run(counts((), b"")).body.decode()
        return value({each.name: each for each in text_string_to_metric_families(shown)}, "pageturn_cache_broken")

    calls(0, 50_000, 0)
    calls(2, 3_000, 0, **other)
    calls(4, 51_000, 50_000)
    calls(6, 9_000, 3_000, **other)
    assert broken() == 0
    calls(8, 52_000, 0)
    assert broken() == 1


def test_counts_are_what_prometheus_reads(started, ask, upstream):
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    with started(metrics=True) as gateway:
        for _ in range(3):
            ask(gateway, "POST", CHAT, body(CHAT), {"x-pageturn-session": "one"}).read()
        upstream.answer = lambda _: Reply([b"{}"], status=500)
        ask(gateway, "POST", CHAT, body(CHAT)).read()
        found = _settled(lambda: families(ask, gateway), lambda each: value(each, "pageturn_requests") == 4)
    assert value(found, "pageturn_requests", status="200", endpoint="chat/completions") == 3
    assert value(found, "pageturn_model_calls", status="500", model="gpt-5") == 1
    assert value(found, "pageturn_tokens", kind="cache_read", model="gpt-5") == 2_700
    counted = {each.name: each.value for each in found["pageturn_cache_read_ratio"].samples}
    assert counted["pageturn_cache_read_ratio_count"] == 2  # the first call of a session has nothing to read


def test_a_cache_that_broke_is_counted(started, ask, upstream):
    cached = iter([0, 9_000, 10, 9_500])

    def answer(_):
        told = {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-5"}
        told["choices"] = [{"index": 0, "message": {"role": "assistant", "content": "Hm."}, "finish_reason": "stop"}]
        told["usage"] = {"prompt_tokens": 10_000, "completion_tokens": 1, "total_tokens": 10_001, "prompt_tokens_details": {"cached_tokens": next(cached)}}  # fmt: skip
        return Reply([json.dumps(told).encode()], is_chunked=False)

    upstream.answer = answer
    with started(metrics=True) as gateway:
        for _ in range(4):
            ask(gateway, "POST", CHAT, body(CHAT), {"x-pageturn-session": "one"}).read()
        found = _settled(lambda: families(ask, gateway), lambda each: value(each, "pageturn_requests") == 4)
    assert value(found, "pageturn_cache_broken") == 1


def test_whoever_invents_models_makes_no_new_series():
    labels = Bounded(3)
    assert [labels.of(name) for name in ("a", "b", "c", "d", "a", "x" * 500, "e\n")] == ["a", "b", "c", "other", "a", "other", "other"]  # fmt: skip


def test_a_note_is_read():
    assert read_note("managed; in=48211; sent=17402; fold=no; edits=off") == {
        "mode": "managed",
        "in": "48211",
        "sent": "17402",
        "fold": "no",
        "edits": "off",
    }
    assert read_note("") == {}


@contextmanager
def _captured(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    yield stream


def test_a_request_is_a_line_of_json_and_a_warning_too(started, ask, upstream, monkeypatch):
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    with _captured(monkeypatch) as stream:  # noqa: SIM117 - the gateway ends before it is looked at
        with started(logs="json") as gateway:
            answer = ask(gateway, "POST", CHAT, body(CHAT), {"authorization": f"Bearer {KEY}"})
            answer.read()
            logging.getLogger("pageturn.gateway").warning("it said api_key=%s\nand a second line", KEY)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    (request,) = [line for line in lines if line["event"] == "request"]
    (call,) = [line for line in lines if line["event"] == "model call"]
    assert request["request_id"] == call["request_id"] == answer.getheader("x-pageturn-request-id")
    assert (request["status"], request["level"], call["model"]) == (200, "info", "gpt-5")
    assert call["input_tokens"] == 1_000
    (warning,) = [line for line in lines if line["level"] == "warning"]
    assert warning["event"] == "it said api_key=[masked]\nand a second line"
    assert KEY not in stream.getvalue()


def test_a_client_cannot_write_a_line_of_the_log(started, ask, upstream, monkeypatch):
    forged = 'x"}\n{"event": "forged"}'
    with _captured(monkeypatch) as stream:  # noqa: SIM117 - the gateway ends before it is looked at
        with started(logs="json") as gateway:
            ask(gateway, "POST", CHAT, body(CHAT, model=forged)).read()
    assert "forged" not in [json.loads(line)["event"] for line in stream.getvalue().splitlines()]


def test_health_and_readiness(started, ask, store):
    with started(token="secret") as gateway:
        assert json.loads(ask(gateway, "GET", "/healthz").read()) == {"status": "ok"}
        told = json.loads(ask(gateway, "GET", "/healthz", None, {"x-pageturn-token": "secret"}).read())
        assert told["starts"] == 1
        answer = ask(gateway, "GET", "/readyz")
        assert (answer.status, json.loads(answer.read())) == (200, {"status": "ready"})


def test_a_gateway_whose_store_cannot_be_opened_is_not_ready(started, ask, tmp_path):
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"this is no store" * 1_000)
    with started(store=str(broken)) as gateway:
        answer = ask(gateway, "GET", "/readyz")
        assert (answer.status, json.loads(answer.read())["status"]) == (503, "not ready")


def test_metrics_want_the_token_as_prometheus_sends_it(started, ask):
    with started(token="secret", metrics=True) as gateway:
        assert ask(gateway, "GET", "/metrics").status == 401
        assert ask(gateway, "GET", "/metrics", None, {"authorization": "Bearer other"}).status == 401
        assert "pageturn_starts" in families(ask, gateway, {"authorization": "Bearer secret"})
    with started() as gateway:
        assert ask(gateway, "GET", "/metrics").status == 200  # which is the upstream's


def test_a_gateway_that_stops_lets_a_stream_end_and_sends_what_it_knows(started, ask, upstream, collector):
    goes_on = threading.Event()
    script = reply
    upstream.answer = lambda asked: _halting(script(asked, "Hello yourself."), goes_on)
    with started(otlp=collector.url, grace=20) as gateway:
        answer = ask(gateway, "POST", CHAT, body(CHAT, stream=True))
        first = answer.readline()
        stopping = threading.Thread(target=gateway.__exit__, args=(None, None, None))
        stopping.start()
        goes_on.set()
        rest = answer.read()
        stopping.join(30)
        assert not stopping.is_alive()
    assert first.startswith(b"data: ")
    assert b"[DONE]" in rest
    assert len(collector.spans) == 1


def _halting(made, event):
    pieces = [*made.pieces]
    return made._replace(pieces=[pieces[0], event, *pieces[1:]])


def _settled(look, is_settled):
    """What is counted once the thread that counts has got to it."""
    end = time.monotonic() + 20
    found = look()
    while not is_settled(found) and time.monotonic() < end:
        time.sleep(0.01)
        found = look()
    assert is_settled(found)
    return found


@pytest.mark.parametrize("mode", ["watch", "recall"])
def test_a_key_is_in_nothing_that_is_written(started, ask, upstream, collector, store, tmp_path, monkeypatch, mode):
    """A canary in every header that may hold a key: it goes upstream, and nowhere else."""
    upstream.answer = Provider(CHAT)
    headers = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "cookie": f"a={KEY}", "x-pageturn-token": KEY}
    agent = Agent(CHAT, headers)
    agent.says("Find the bug.")
    with _captured(monkeypatch) as stream:  # noqa: SIM117 - the gateway ends before it is looked at
        with started(mode=mode, room=4_000, otlp=collector.url, metrics=True, logs="json", token=KEY) as gateway:
            agent.works(ask, gateway, 12)
            shown = [ask(gateway, "GET", "/metrics", None, headers).read(), ask(gateway, "GET", "/healthz").read()]
            upstream.answer = lambda _: Reply([b"no"], status=500)
            shown.append(ask(gateway, "POST", CHAT, b"{", headers).read())
    assert any(KEY in str(asked.headers) for asked in upstream.asked)
    written = [*shown, stream.getvalue().encode(), *(each.SerializeToString() for each in collector.traces + collector.metrics)]  # fmt: skip
    written += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert store.exists()
    assert all(KEY.encode() not in each for each in written)
    with closing(sqlite3.connect(store)) as connection:
        assert KEY not in "\n".join(connection.iterdump())
