"""What the proxy does itself: who may enter, what it refuses in each vendor's words, where a request goes, and what a mode may change."""

import json
import socket
import threading
from urllib.parse import urlsplit

import pytest

from pageturn.apps.gateway.endpoints import Upstream, endpoint_of
from pageturn.apps.gateway.exchange import Ending
from pageturn.apps.gateway.modes import Refuse, Send
from pageturn.apps.gateway.refusals import refusal
from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES, reply, request
from tests.apps.gateway.upstream import WAIT, Reply

GEMINI = "/v1beta/models/gemini-3:generateContent"
UPGRADE = (
    "GET {} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.mark.parametrize("path", [RESPONSES, ANTHROPIC, "/any/path"])
def test_a_websocket_is_answered_426_and_nobody_is_asked(started, upstream, path):
    with started(store="none") as gateway:
        parts = urlsplit(gateway.url)
        with socket.create_connection((parts.hostname, parts.port), WAIT) as connection:
            connection.sendall(UPGRADE.format(path).encode())
            answer = b"".join(iter(lambda: connection.recv(65_536), b""))  # the gateway closes
    assert answer.startswith(b"HTTP/1.1 426 ")
    assert upstream.asked == []


def message_of(path, body):
    error = json.loads(body)["error"]
    if path == ANTHROPIC:
        assert json.loads(body)["type"] == "error"
    return error["message"]


@pytest.mark.parametrize("path", [ANTHROPIC, CHAT, RESPONSES, "/other"])
def test_an_upstream_that_is_not_there_is_an_error_in_its_vendors_form(started, ask, path):
    nowhere = "http://127.0.0.1:1"
    with started(store="none", anthropic=nowhere, openai=nowhere) as gateway:
        answer = ask(gateway, "POST", path, b"{}")
        assert answer.status == 502
        assert message_of(path, answer.read()) == "pageturn: http://127.0.0.1:1 gave no answer (Connection refused)"


def test_an_error_of_ours_has_the_form_of_its_vendor():
    assert json.loads(refusal("gemini", 502, "x")) == {
        "error": {"code": 502, "message": "pageturn: x", "status": "UNAVAILABLE"}
    }
    assert json.loads(refusal("anthropic", 401, "x"))["error"]["type"] == "authentication_error"
    assert json.loads(refusal("openai", 400, "x"))["error"]["type"] == "invalid_request_error"


def test_an_upstream_that_hangs_up_without_an_answer_is_an_error(started, ask):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with started(store="none", anthropic=url) as gateway:

            def hang_up():
                connection, _ = listening.accept()
                connection.recv(65_536)
                connection.close()

            thread = threading.Thread(target=hang_up)
            thread.start()
            answer = ask(gateway, "POST", ANTHROPIC, b"{}")
            thread.join(WAIT)
            assert answer.status == 502
            assert "gave no answer" in message_of(ANTHROPIC, answer.read())


def test_a_token_is_asked_for_and_not_passed_on(started, upstream, ask):
    with started(store="none", token="secret") as gateway:
        for headers in ({}, {"x-pageturn-token": "other"}, {"x-pageturn-token": ""}):
            answer = ask(gateway, "POST", ANTHROPIC, b"{}", headers)
            assert (answer.status, "x-pageturn-token" in message_of(ANTHROPIC, answer.read())) == (401, True)
        assert ask(gateway, "GET", "/other", None, {}).status == 401
        assert upstream.asked == []
        assert ask(gateway, "POST", ANTHROPIC, b"{}", {"x-pageturn-token": "secret"}).status == 200
    assert [name for name, _ in upstream.asked[0].headers if "pageturn" in name] == []


def test_headers_of_one_connection_are_not_passed_on(started, upstream, ask):
    upstream.answer = lambda _: Reply(
        [b"x"], headers=[("Connection", "x-own"), ("X-Own", "1"), ("Keep-Alive", "timeout=5"), ("X-Kept", "2")]
    )
    with started(store="none") as gateway:
        sent = {"Connection": "X-Mine", "X-Mine": "1", "TE": "trailers", "Proxy-Authorization": "x", "X-Stays": "2"}
        answer = ask(gateway, "POST", "/other", b"{}", sent)
        assert answer.read() == b"x"
    names = {name for name, _ in upstream.asked[0].headers}
    assert names == {"host", "content-length", "x-stays"}
    assert {name.lower() for name, _ in answer.getheaders()} == {"transfer-encoding", "x-kept"}


class Changing:
    """A mode that sends another body, and hides a word of the answer."""

    def __init__(self, plan):
        self.plan = plan
        self.ended = []

    async def before(self, exchange):
        return self.plan

    async def refused(self, exchange, body):
        return None

    def on_chunk(self, exchange, chunk):
        return chunk.replace(b"hidden", b"")

    async def proceed(self, exchange):
        return None

    async def after(self, exchange):
        self.ended.append((exchange.ending, exchange.status, b"".join(exchange.chunks)))

    def close(self):
        self.ended.append("closed")


def test_a_mode_can_change_what_is_sent_and_what_comes_back(started, upstream, ask):
    upstream.answer = lambda _: Reply([b"one hidden two"], is_chunked=False)
    mode = Changing(Send(b"another", "managed; in=9; sent=7", ((b"accept-encoding", None), (b"x-new", b"1"))))
    with started(mode) as gateway:
        answer = ask(gateway, "POST", CHAT, b"the clients", {"Accept-Encoding": "gzip", "X-Old": "2"})
        assert answer.read() == b"one  two"
        assert answer.getheader("x-pageturn") == "managed; in=9; sent=7"
    (asked,) = upstream.asked
    assert asked.body == b"another"
    assert {name for name, _ in asked.headers} == {"host", "content-length", "x-old", "x-new"}
    assert mode.ended == [(Ending.WHOLE, 200, b"one hidden two"), "closed"]


def test_a_mode_can_refuse(started, upstream, ask):
    mode = Changing(Refuse(400, "the floors need 9,000 tokens", "refused"))
    with started(mode) as gateway:
        answer = ask(gateway, "POST", ANTHROPIC, b"{}")
        assert (answer.status, answer.getheader("x-pageturn")) == (400, "refused")
        assert message_of(ANTHROPIC, answer.read()) == "pageturn: the floors need 9,000 tokens"
    assert upstream.asked == []
    assert mode.ended == [(Ending.UNREACHED, None, b""), "closed"]


def test_a_mode_is_told_of_a_cut(started, upstream, ask):
    upstream.answer = lambda _: Reply([b"half"], is_cut=True)
    mode = Changing(Send(b"x", "managed"))
    with started(mode) as gateway, pytest.raises(Exception, match="IncompleteRead"):
        ask(gateway, "POST", ANTHROPIC, b"{}").read()
    assert mode.ended == [(Ending.CUT, 200, b"half"), "closed"]


def test_a_mode_that_fails_ends_in_an_error_and_never_in_a_clean_answer(started, upstream, ask):
    class Failing(Changing):
        async def before(self, exchange):
            raise RuntimeError

    mode = Failing(None)
    with started(mode) as gateway:
        answer = ask(gateway, "POST", ANTHROPIC, b"{}")
        assert answer.status == 500
        answer.read()
    assert upstream.asked == []
    assert mode.ended[-1] == "closed"


@pytest.mark.parametrize(
    ("base", "vendor", "path", "url"),
    [
        ("https://a", "anthropic", "/v1/messages", "https://a/v1/messages"),
        ("https://a/v1", "anthropic", "/messages", "https://a/v1/messages"),
        ("https://a/gate/", "anthropic", "/v1/v1/messages", "https://a/gate/v1/messages"),
        ("https://a", "anthropic", "/api/hello", "https://a/api/hello"),
        ("https://a", "anthropic", "/v1/files", "https://a/v1/files"),
        ("https://o/v1", "openai", "/v1/chat/completions", "https://o/v1/chat/completions"),
        ("https://o/v1", "openai", "/responses", "https://o/v1/responses"),
        ("https://o", "openai", "/v1/chat/completions", "https://o/chat/completions"),
        ("https://o/api/v4", "openai", "/v1/chat/completions", "https://o/api/v4/chat/completions"),
        ("https://o/api/v4", "openai", "/v1/embeddings", "https://o/api/v4/embeddings"),
        ("https://o/v1", "openai", "/v1/embeddings", "https://o/v1/embeddings"),
        ("https://o/v1", "openai", "/v1/models", "https://o/v1/models"),
        ("https://o/v1", "openai", "/v1/responses/r/cancel", "https://o/v1/responses/r/cancel"),
        ("https://g", "gemini", GEMINI, f"https://g{GEMINI}"),
    ],
)
def test_where_a_path_is_at_an_upstream(base, vendor, path, url):
    endpoint = endpoint_of("POST", path, (), vendor)
    assert endpoint.vendor == vendor
    assert Upstream.at(base, vendor).url(endpoint, "") == url


@pytest.mark.parametrize(
    ("path", "headers", "vendor"),
    [
        ("/v1/models", {}, "openai"),
        ("/v1/models", {"anthropic-version": "2023-06-01"}, "anthropic"),
        ("/v1/models", {"x-goog-api-key": "k"}, "gemini"),
        ("/v1/models/gemini-3:generateContent", {}, "gemini"),
        ("/v1/messages", {}, "anthropic"),
        ("/v1/responses", {}, "openai"),
        ("/v1/responses", {"ChatGPT-Account-ID": "a"}, "chatgpt"),
        ("/other", {"anthropic-beta": "x"}, "anthropic"),
    ],
)
def test_whose_a_path_is(path, headers, vendor):
    given = tuple((name.lower().encode(), value.encode()) for name, value in headers.items())
    assert endpoint_of("POST", path, given, "openai").vendor == vendor


def test_a_call_is_only_what_is_posted():
    assert endpoint_of("POST", RESPONSES, (), "openai").is_call
    assert not endpoint_of("GET", RESPONSES, (), "openai").is_call


@pytest.mark.parametrize("path", ["/v1/messages/", "//v1/messages", "/v1//messages", "/messages//", "/v1/v1/messages/"])
def test_clients_may_vary_in_slashes(started, ask, upstream, path):
    upstream.answer = lambda asked: reply(asked, "1")
    with started() as gateway:
        answer = ask(gateway, "POST", path, json.dumps(request(ANTHROPIC, ["One."])).encode())
        assert answer.read()
    assert answer.getheader("x-pageturn") == "watching"
    assert upstream.asked[-1].target == ANTHROPIC


def test_other_paths_keep_their_slashes(started, ask, upstream):
    with started(store="none") as gateway:
        ask(gateway, "GET", "//v1/files//x/").read()
    assert upstream.asked[-1].target == "//v1/files//x/"


@pytest.mark.parametrize(("method", "status"), [("GET", 200), ("HEAD", 200), ("POST", 405), ("DELETE", 405)])
def test_what_is_the_gateways_own_goes_to_no_provider(started, ask, upstream, method, status):
    with started(store="none") as gateway:
        for path in ("/healthz", "/readyz"):
            assert ask(gateway, method, path).status == status
    assert upstream.asked == []


@pytest.mark.parametrize("mode", ["watch", "manage"])
@pytest.mark.parametrize(
    ("wish", "told"),
    [("off", "off"), ("False", "off"), ("0", "off"), ("no", "off"), ("on", None), ("maybe", "neither on nor off")],
)
def test_what_a_client_says_of_management_is_done_or_answered(started, ask, upstream, mode, wish, told):
    upstream.answer = lambda asked: reply(asked, "1")
    with started(mode=mode) as gateway:
        body = json.dumps(request(ANTHROPIC, ["One."])).encode()
        answer = ask(gateway, "POST", ANTHROPIC, body, {"x-pageturn": wish})
        assert answer.read()
    note = answer.getheader("x-pageturn")
    assert told in note if told else "off" not in note
