"""Answers that are none although their status says so, and upstreams that stop in the middle."""

import http.client
import json
import threading

import pytest

from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES, events, reply
from tests.apps.gateway.test_limits import BODY
from tests.apps.gateway.test_routes import call, decisions, error, two  # noqa: F401 - a fixture
from tests.apps.gateway.upstream import Reply

STREAM = [("content-type", "text/event-stream")]
DEAD = {
    "nothing": Reply([b""], is_chunked=False),
    "blank": Reply([b" \r\n", b"\n"]),
    "a page": Reply([b"<html>bad gateway</html>"], headers=[("content-type", "text/html")]),
    "a word": Reply([b"error"], is_chunked=False),
    "comments": Reply([b": keepalive\n\n", b": keepalive\n\n"], headers=STREAM),
    "an event that is no JSON": Reply([b": keepalive\n\n", b"data: {broken\n\n"], headers=STREAM),
    "an event that is no object": Reply([b"data: 7\n\n"], headers=STREAM),
    "an end": Reply([b"data: [DONE]\n\n"], headers=STREAM),
    "a stream that ends before it says anything": Reply([b'data: {"type": "message_start", "message": {}}\n\n'], headers=STREAM),
    "nothing that can be unpacked": Reply([b"plain"], headers=[("content-encoding", "gzip")]),
    "a length that was promised": Reply([b""], is_chunked=False, length=100, is_cut=True),
}  # fmt: skip


@pytest.fixture
def near_first(two):  # noqa: F811
    """Start a gateway that prefers the candidate `near`."""
    return lambda **more: two(more="value = 0.0", **more)


@pytest.mark.parametrize("kind", DEAD)
@pytest.mark.parametrize("streams", [True, False])
def test_another_candidate_answers_where_an_answer_says_nothing(near_first, ask, store, kind, streams):
    with near_first() as gateway:
        gateway.two.answers(near=lambda _: DEAD[kind])
        answer = call(ask, gateway, stream=streams)
        assert (answer.status, b"m far" in answer.read()) == (200, True)
        assert "failed before: near/small" in answer.getheader("x-pageturn-decision")
    near, far = sorted(decisions(store), key=lambda each: each.decision.choice, reverse=True)
    assert (near.decision.choice, near.outcome.verdict) == ("near/small", 0.0)
    assert (far.decision.choice, far.outcome.verdict) == ("far/large", 1.0)


def test_where_nobody_says_anything_the_client_gets_an_error(near_first, ask):
    with near_first() as gateway:
        gateway.two.answers(near=lambda _: DEAD["nothing"], far=lambda _: DEAD["a page"])
        answer = call(ask, gateway)
        assert answer.status == 502
        assert b"before it said anything" in answer.read()


BEGUN = {
    "a half object": Reply([b'{"id": "x", "choi']),
    "an object that is no answer": Reply([b'{"hello": 1}']),
    "half a stream": Reply(events(CHAT, "Hello yourself.")[:2], headers=STREAM),
    "a stream that goes bad": Reply([*events(CHAT, "Hello yourself.")[:2], b"data: {broken\n\n"], headers=STREAM),
    "a stream that breaks off": Reply(events(CHAT, "Hello yourself.")[:2], headers=STREAM, is_cut=True),
}


@pytest.mark.parametrize("kind", BEGUN)
def test_an_answer_that_goes_bad_after_it_began_reaches_the_client_and_counts_as_a_failure(near_first, ask, store, kind):  # fmt: skip
    begun = BEGUN[kind]
    with near_first() as gateway:
        gateway.two.answers(near=lambda _: begun)
        answer = call(ask, gateway, stream=True)
        try:
            read = answer.read()
        except http.client.IncompleteRead as cut:
            read = cut.partial
        assert read == b"".join(begun.pieces)
    (entry,) = decisions(store)
    assert (entry.decision.choice, entry.outcome.verdict, entry.outcome.is_weak) == ("near/small", 0.0, False)


@pytest.mark.parametrize("path", [ANTHROPIC, CHAT, RESPONSES])
@pytest.mark.parametrize("streams", [True, False])
def test_a_whole_answer_is_a_weak_success(two, ask, store, path, streams):  # noqa: F811
    with two("anthropic" if path == ANTHROPIC else "openai") as gateway:
        call(ask, gateway, path, stream=streams).read()
    (entry,) = decisions(store)
    assert (entry.outcome.verdict, entry.outcome.is_weak) == (1.0, True)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/files"])
@pytest.mark.parametrize("piece", [b'{"id":"x",', b""])
def test_an_upstream_that_stops_in_the_middle_is_cut(started, ask, upstream, path, piece):
    never = threading.Event()
    upstream.answer = lambda _: Reply([*([piece] if piece else []), never])
    with started(store="none", idle_seconds=1) as gateway:
        with pytest.raises(http.client.IncompleteRead) as cut:
            ask(gateway, "POST", path, BODY).read()
        never.set()
    assert cut.value.partial == piece


def test_a_stuck_candidate_is_cut_too_and_counts_as_a_failure(near_first, ask, store):
    never = threading.Event()
    with near_first(idle_seconds=1) as gateway:
        gateway.two.answers(near=lambda _: Reply([*events(CHAT, "Hello yourself.")[:2], never], headers=STREAM))
        with pytest.raises(http.client.IncompleteRead):
            call(ask, gateway, stream=True).read()
        never.set()
    (entry,) = decisions(store)
    assert entry.outcome.verdict == 0.0


def test_a_length_that_is_too_short_ends_where_it_says(near_first, ask):
    told = json.dumps(json.loads(reply_of("from near"))).encode()
    with near_first() as gateway:
        gateway.two.answers(
            near=lambda _: Reply([told + b"HTTP/1.1 200 OK\r\n\r\n"], is_chunked=False, length=len(told))
        )
        answer = call(ask, gateway)
        assert (answer.status, answer.read()) == (200, told)


def reply_of(text):
    class Asked:
        target, body = CHAT, b"{}"

    return b"".join(reply(Asked, text).pieces)


def test_in_a_storm_of_refusals_each_candidate_rests(near_first, ask):
    """Forty requests while both candidates refuse: once their rest is known, nobody is asked more often than needed."""
    with near_first() as gateway:
        busy = error(429, [("retry-after", "60")])
        gateway.two.answers(near=busy, far=busy)
        statuses = {call(ask, gateway, text=f"{number}").status for number in range(40)}
        assert statuses == {429}
        gateway.two.answers(near=busy)
        assert call(ask, gateway).status == 200
        assert len(gateway.two.near.asked) + len(gateway.two.far.asked) <= 2 * 41
