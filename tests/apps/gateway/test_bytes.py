"""What goes through the gateway comes out as it was: bodies byte for byte, headers with none changed, chunk by chunk."""

import gzip
import http.client
import json
import random
import threading
import zlib

import brotli
import pytest
import zstandard

from pageturn.apps.gateway.config import load_config
from pageturn.apps.gateway.journaling import Journaling
from pageturn.apps.gateway.server import Gateway
from pageturn.apps.gateway.watch import Watch
from tests.apps.gateway.upstream import WAIT, Reply
from tests.apps.gateway.upstream import upstream as scripted

ODD = '{"model": "m",  "max_tokens":1e2,\n\t"messages":[{"content":"\\u00e9 é 🜚","role":"user"}], "new":null }'.encode()
CALLS = {"messages": "/v1/messages", "chat/completions": "/v1/chat/completions", "responses": "/v1/responses"}
SENT = {
    "Authorization": "Bearer canary",
    "x-api-key": "canary",
    "anthropic-beta": "one-2026-01-01,two",
    "X-Codex-Turn-State": "abc==",
    "Cookie": "a=1; b=2",
    "User-Agent": "claude-cli/2.1",
}


@pytest.fixture(scope="module")
def running():
    """One gateway for all of these, since none of them leaves anything behind."""
    with scripted() as upstream:
        bases = {"anthropic": upstream.url, "openai": f"{upstream.url}/v1"}
        config = load_config({"port": 0, "store": "none", **bases}, None, {"PAGETURN_GEMINI_URL": upstream.url})
        with Gateway(config, Watch(Journaling(None))) as gateway:
            yield gateway, upstream


@pytest.fixture
def gateway(running):
    return running[0]


@pytest.fixture
def upstream(running):
    running[1].forget()
    return running[1]


def without(headers, *names):
    return [(name.lower(), value) for name, value in headers if name.lower() not in names]


@pytest.mark.parametrize("version", ["/v1", "", "/v1/v1"])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_arrives_as_it_was_sent(gateway, upstream, ask, call, version):
    answer = ask(gateway, "POST", f"{version}/{call}?beta=true&x=%2F%20+y", ODD, SENT)
    assert answer.read() == b""
    (asked,) = upstream.asked
    assert (asked.method, asked.target, asked.body) == ("POST", f"{CALLS[call]}?beta=true&x=%2F%20+y", ODD)
    assert sorted(without(asked.headers, "host", "content-length")) == sorted(without(SENT.items()))
    assert asked.header("content-length") == str(len(ODD))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models"),
        ("POST", "/v1/messages/count_tokens"),
        ("GET", "/v1/models/some%2Fmodel"),
        ("DELETE", "/v1/files/f%20-1"),
        ("POST", "/v1/messages/batches"),
        ("GET", "/v1/responses/resp_1"),
        ("POST", "/api/event_logging/batch"),
        ("PUT", "/other//path/./x/../y"),
        ("POST", "/v1beta/models/gemini-3:streamGenerateContent"),
    ],
)
def test_every_other_path_is_passed_as_it_is(gateway, upstream, ask, method, path):
    upstream.answer = lambda _: Reply(
        [b"\x00\xff", b"odd"], 207, [("X-Own", "1"), ("Set-Cookie", "a"), ("Set-Cookie", "b")]
    )
    body = None if method in ("GET", "DELETE") else b"\x00\x01" * 40_000
    answer = ask(gateway, method, f"{path}?a=1&a=%zz", body, SENT)
    assert (answer.status, answer.read()) == (207, b"\x00\xffodd")
    (asked,) = upstream.asked
    assert (asked.method, asked.target, asked.body) == (method, f"{path}?a=1&a=%zz", body or b"")
    assert sorted(without(asked.headers, "host", "content-length")) == sorted(without(SENT.items()))
    passed = without(answer.getheaders(), "transfer-encoding", "x-pageturn")
    assert passed == [("x-own", "1"), ("set-cookie", "a"), ("set-cookie", "b")]


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/files"])
def test_a_body_that_comes_in_chunks_arrives_whole(gateway, upstream, ask, path):
    pieces = [b"a", b"bc" * 50_000, b"\r\n", b"0\r\n\r\n"]
    ask(gateway, "POST", path, iter(pieces), SENT, chunked=True).read()
    assert upstream.asked[0].body == b"".join(pieces)


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/files"])
def test_a_large_body_arrives_whole_in_both_directions(gateway, upstream, ask, path):
    body, answered = random.Random(1).randbytes(3_000_001), random.Random(2).randbytes(5_000_003)
    upstream.answer = lambda _: Reply([answered[:7], answered[7:]], is_chunked=False)
    answer = ask(gateway, "POST", path, body)
    assert answer.getheader("content-length") == str(len(answered))
    assert answer.read() == answered
    assert upstream.asked[0].body == body


def test_a_body_that_is_too_large_to_look_at_still_passes(gateway, upstream, ask):
    body = b"x" * (33 * 1024 * 1024)
    answer = ask(gateway, "POST", "/v1/messages", body)
    answer.read()
    assert answer.getheader("x-pageturn") == "passed; too large"
    assert upstream.asked[0].body == body


EVENTS = "".join(
    f"event: {kind}\r\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
    for kind, data in [
        ("message_start", {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}),
        ("ping", {"type": "ping"}),
        (
            "content_block_start",
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        ),
        (
            "content_block_delta",
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "é🜚"}},
        ),
        ("unheard_of", {"type": "unheard_of"}),
    ]
).encode()


@pytest.mark.parametrize("seed", range(8))
def test_a_stream_passes_however_it_is_cut_into_chunks(gateway, upstream, ask, seed):
    chance = random.Random(seed)
    places = sorted(chance.sample(range(1, len(EVENTS)), chance.randrange(1, 60)))
    pieces = [EVENTS[a:b] for a, b in zip([0, *places], [*places, len(EVENTS)], strict=True)]
    upstream.answer = lambda _: Reply(pieces, headers=[("content-type", "text/event-stream; charset=utf-8")])
    answer = ask(gateway, "POST", "/v1/messages", ODD)
    assert answer.getheader("content-type") == "text/event-stream; charset=utf-8"
    assert answer.read() == EVENTS


@pytest.mark.parametrize("path", ["/v1/responses", "/anything"])
def test_nothing_waits_for_what_comes_later(gateway, upstream, ask, path):
    has_come = threading.Event()
    upstream.answer = lambda _: Reply([b"first", has_come, b"second"])
    answer = ask(gateway, "POST", path, b"{}")
    assert answer.read1() == b"first"  # the upstream writes no more before this is here
    has_come.set()
    assert answer.read() == b"second"


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("br", brotli.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("unheard-of", bytes),
    ],
)
def test_what_is_packed_stays_packed(gateway, upstream, ask, encoding, pack):
    packed = pack(EVENTS)
    headers = [("content-type", "text/event-stream"), ("content-encoding", encoding)]
    upstream.answer = lambda _: Reply([packed[:5], packed[5:]], headers=headers)
    sent = pack(ODD)
    answer = ask(gateway, "POST", "/v1/messages", sent, {"Content-Encoding": encoding, "Accept-Encoding": encoding})
    assert (answer.getheader("content-encoding"), answer.read()) == (encoding, packed)
    assert upstream.asked[0].body == sent
    assert upstream.asked[0].header("accept-encoding") == encoding


@pytest.mark.parametrize(("status", "headers"), [(429, [("Retry-After", "3")]), (529, []), (302, [("Location", "/x")])])
def test_errors_and_redirects_are_passed_on_with_their_headers(gateway, upstream, ask, status, headers):
    upstream.answer = lambda _: Reply([b'{"type":"error"}'], status, headers, is_chunked=False)
    answer = ask(gateway, "POST", "/v1/messages", ODD)
    assert (answer.status, answer.read()) == (status, b'{"type":"error"}')
    passed = without(answer.getheaders(), "content-length", "x-pageturn")
    assert passed == without(headers)
    assert len(upstream.asked) == 1


@pytest.mark.parametrize(
    ("status", "headers", "waits"),
    [(429, [], "5"), (429, [("Retry-After", "17")], "17"), (429, [("retry-after-ms", "90")], None), (529, [], None)],
)
def test_whoever_asked_too_often_is_told_how_long_to_wait(gateway, upstream, ask, status, headers, waits):
    """Codex gives up at once where nobody says so."""
    upstream.answer = lambda _: Reply([b"{}"], status, headers, is_chunked=False)
    answer = ask(gateway, "POST", "/v1/responses", b"{}")
    answer.read()
    assert answer.getheader("retry-after") == waits


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_an_answer_without_a_body_has_none(gateway, upstream, ask, method, status):
    upstream.answer = lambda _: Reply([], status, [("ETag", "x")])
    answer = ask(gateway, method, "/v1/models")
    assert (answer.status, answer.getheader("etag"), answer.read()) == (status, "x", b"")
    assert ask(gateway, "GET", "/v1/models").read() == b""  # the gateway goes on


@pytest.mark.parametrize("is_chunked", [True, False])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/other"])
@pytest.mark.parametrize("size", [10, 3_000_000])
def test_an_answer_that_breaks_off_breaks_off(gateway, upstream, ask, path, is_chunked, size):
    came = random.Random(3).randbytes(size)
    upstream.answer = lambda _: Reply([came], is_chunked=is_chunked, is_cut=True, length=size + 5)
    answer = ask(gateway, "POST", path, ODD)
    with pytest.raises(http.client.IncompleteRead) as cut:
        answer.read()
    assert cut.value.partial == came
    upstream.answer = lambda _: Reply([b"again"])
    assert ask(gateway, "POST", path, ODD).read() == b"again"


@pytest.mark.parametrize("path", ["/v1/messages", "/other"])
@pytest.mark.parametrize("has_begun", [True, False])
def test_a_client_that_goes_away_cancels_its_request(gateway, upstream, ask, path, has_begun):
    never, is_asked = threading.Event(), threading.Event()

    def answer(_):
        is_asked.set()
        return Reply([b"first", never] if has_begun else [never])

    upstream.answer = answer
    if has_begun:
        answer = ask(gateway, "POST", path, ODD)
        assert answer.read1() == b"first"
        answer.connection.close()
        answer.close()
    else:
        going = threading.Thread(target=_ask_and_go, args=(gateway, path, is_asked))
        going.start()
        going.join(WAIT)
    assert upstream.was_left.wait(WAIT)
    never.set()


def _ask_and_go(gateway, path, is_asked):
    connection = http.client.HTTPConnection(gateway.url.removeprefix("http://"), timeout=WAIT)
    connection.request("POST", path, ODD)
    assert is_asked.wait(WAIT)
    connection.close()


def test_connections_are_kept(gateway, upstream, ask):
    for _ in range(5):
        ask(gateway, "POST", "/v1/messages", ODD).read()
    assert len(upstream.asked) == 5
    assert upstream.connections <= 1  # none where one is open from before
