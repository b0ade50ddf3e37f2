"""What hostile or broken clients send: too much, too slowly, packed, or for another address. Each has an answer, and nobody else waits."""

import gzip
import json
import socket
import threading
import time
import zlib
from contextlib import closing
from posixpath import normpath
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageturn.apps.gateway.headers import as_header
from pageturn.apps.gateway.limits import is_odd
from tests.apps.gateway.answers import ANTHROPIC, CHAT, reply
from tests.apps.gateway.upstream import WAIT, Reply

BODY = b'{"model": "gpt-5", "messages": [{"role": "user", "content": "Hello."}]}'


def connected(gateway):
    parts = urlsplit(gateway.url)
    return closing(socket.create_connection((parts.hostname, parts.port), WAIT))


def exchanged(gateway, data):
    """What comes back for bytes on a connection, until the gateway closes it."""
    with connected(gateway) as connection:
        try:
            connection.sendall(data)
            return b"".join(iter(lambda: connection.recv(65_536), b""))
        except ConnectionError:
            return b"reset"


def post(path=CHAT, body=BODY, *headers):
    lines = [f"POST {path} HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else None


def is_well(gateway, ask):
    """Whether somebody else is served."""
    return ask(gateway, "POST", CHAT, BODY).status == 200


@pytest.mark.parametrize(
    "head",
    [
        "POST /x HTTP/1.1\r\nHost: x\r\nX-Long: " + "a" * 200_000 + "\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: x\r\n" + "".join(f"X-{n}: a\r\n" for n in range(500)) + "\r\n",
        "GET /" + "a" * 200_000 + " HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: x\r\nX-Endless: " + "a" * 2_000_000,
    ],
    ids=["long", "many", "path", "endless"],
)
def test_headers_that_nobody_needs(started, upstream, ask, head):
    with started(store="none") as gateway:
        answer = exchanged(gateway, head.encode())
        assert answer == b"reset" or status_of(answer) in (431, 400)
        assert is_well(gateway, ask)
    assert [asked.target for asked in upstream.asked] == [CHAT]


def test_headers_that_never_end_are_given_up(started, ask):
    with started(store="none", header_seconds=1) as gateway, connected(gateway) as connection:
        connection.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\n")
        begun = time.monotonic()
        assert status_of(connection.recv(65_536)) == 408
        assert time.monotonic() - begun < WAIT
        assert is_well(gateway, ask)


def test_a_body_that_never_ends_is_given_up(started, upstream, ask):
    with started(store="none", body_seconds=1) as gateway:
        data = post().replace(str(len(BODY)).encode(), b"5000")
        assert status_of(exchanged(gateway, data)) == 408
        assert is_well(gateway, ask)
    assert len(upstream.asked) == 1


def test_a_body_that_is_too_large_is_refused_before_it_comes(started, upstream):
    with started(store="none", body_bytes=10_000) as gateway:
        data = post().replace(str(len(BODY)).encode(), b"10001")
        assert status_of(exchanged(gateway, data)) == 413
        chunked = b"POST /v1/files HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b"a" * 4_096 + b"\r\n"  # fmt: skip
        answer = exchanged(gateway, chunked + (b"1000\r\n" + b"a" * 4_096 + b"\r\n") * 4)
        assert answer == b"reset" or status_of(answer) == 413
    assert upstream.asked == []


def test_a_client_that_reads_nothing_is_left(started, upstream, ask):
    piece = b"x" * 65_536
    upstream.answer = lambda _: Reply([piece] * 2_000)
    with started(store="none", reading_seconds=1) as gateway:
        with connected(gateway) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.sendall(post())
            end = time.monotonic() + WAIT
            while not gateway.mode.tally().passed and time.monotonic() < end:
                time.sleep(0.01)
            assert gateway.mode.tally().passed  # it is over, although the client is still there
        upstream.answer = lambda _: Reply([b"{}"])
        assert is_well(gateway, ask)


def test_requests_beyond_the_limit_are_refused_and_those_that_run_go_on(started, upstream, ask):
    goes_on = threading.Event()
    upstream.answer = lambda _: Reply([b"be", goes_on, b"gun"])
    with started(store="none", requests=2) as gateway:
        running = [ask(gateway, "POST", CHAT, BODY) for _ in range(2)]
        refused = ask(gateway, "POST", ANTHROPIC, BODY)
        assert (refused.status, refused.getheader("retry-after")) == (503, "5")
        assert json.loads(refused.read())["error"]["message"].startswith("pageturn: too many requests")
        assert ask(gateway, "GET", "/healthz").status == 200
        goes_on.set()
        assert [answer.read() for answer in running] == [b"begun"] * 2
        assert is_well(gateway, ask)


def test_connections_beyond_the_limit_are_refused(started, ask):
    with started(store="none", connections=2) as gateway, connected(gateway), connected(gateway):
        answer = exchanged(gateway, post())
        assert answer == b"reset" or status_of(answer) == 503


@pytest.mark.parametrize("mode", ["watch", "manage"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_that_is_endless_when_it_is_unpacked(started, upstream, ask, mode, encoding):
    upstream.answer = lambda asked: Reply([b"{}"])
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if encoding == "gzip" else 15)
    packed = b"".join(packer.compress(b" " * 1_000_000) for _ in range(200)) + packer.flush()
    with started(mode=mode) as gateway:
        answer = ask(gateway, "POST", CHAT, packed, {"content-encoding": encoding})
        assert (answer.status, answer.read()) == (200, b"{}")  # it is the provider's to refuse, and passes as it came
        assert is_well(gateway, ask)
    assert upstream.asked[0].body == packed


def test_an_answer_that_is_endless_when_it_is_unpacked_reaches_the_client_as_it_came(started, upstream, ask):
    bomb = gzip.compress(b" " * 100_000_000)
    upstream.answer = lambda _: Reply([bomb], headers=[("content-encoding", "gzip")])
    with started(mode="recall") as gateway:
        body = json.dumps({**json.loads(BODY), "tools": [{"type": "function", "function": {"name": "f"}}]}).encode()
        ask(gateway, "POST", CHAT, body).read()
        upstream.answer = lambda asked: Reply([b"{}"])
        assert is_well(gateway, ask)


@pytest.mark.parametrize(
    "target",
    [
        "/v1/../../admin",
        "/v1/%2e%2e/%2e%2e/admin",
        "/v1/%252e%252e/admin",
        "/v1/..%2fadmin",
        "/v1/models/../../x",
        "/v1\\..\\admin",
        "/v1/%5c..%5cadmin",
        "/v1/%00/x",
        "/v1/%0d%0aHost:evil",
    ],
)
def test_a_path_that_goes_elsewhere_is_refused(started, upstream, target):
    with started(store="none") as gateway:
        for method in ("GET", "POST"):
            data = f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            assert status_of(exchanged(gateway, data.encode("latin-1"))) in (400, 404)
    assert upstream.asked == []


@pytest.mark.parametrize(
    "line",
    [
        "GET http://evil.invalid/v1/models HTTP/1.1",
        "GET @evil.invalid/v1/models HTTP/1.1",
        "GET //evil.invalid/v1/models HTTP/1.1",
        "CONNECT evil.invalid:80 HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "GET /v1/models?u=http://evil.invalid HTTP/1.1",
    ],
)
def test_no_request_names_its_own_upstream(started, upstream, line):
    """Whatever stands in a request, only the host of the settings is asked."""
    with started(store="none", openai="http://127.0.0.1:1/v1") as gateway:
        answer = exchanged(gateway, f"{line}\r\nHost: evil.invalid\r\nConnection: close\r\n\r\n".encode())
        assert status_of(answer) in (400, 404, 502)
        assert b"evil" not in answer
    assert upstream.asked == []


def test_a_redirect_is_the_clients(started, upstream, ask):
    upstream.answer = lambda _: Reply([], status=307, headers=[("location", "http://169.254.169.254/latest")])
    with started(store="none") as gateway:
        answer = ask(gateway, "POST", CHAT, BODY)
        assert (answer.status, answer.getheader("location")) == (307, "http://169.254.169.254/latest")
    assert len(upstream.asked) == 1


@pytest.mark.parametrize(
    "data",
    [
        post(CHAT, BODY, "Transfer-Encoding: chunked"),
        post().replace(b"Content-Length: ", b"Content-Length: 1\r\nContent-Length: "),
        b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-A: a\nX-B: b\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-A: a\x00b\r\n\r\n",
        b"\x16\x03\x01\x02\x00" * 40,
        b"GET / HTTP/9.9\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused_without_a_word_of_ours_inside(started, upstream, ask, data):
    with started(store="none") as gateway:
        answer = exchanged(gateway, data)
        assert status_of(answer) in (400, None)
        assert b"Traceback" not in answer
        assert is_well(gateway, ask)
    assert [asked.body for asked in upstream.asked] == [BODY]


def test_what_we_tell_in_a_header_is_one_line_whatever_a_request_says(started, upstream, ask):
    upstream.answer = lambda asked: reply(asked, "Hello.")
    odd = json.dumps({"model": "gpt-5", "messages": [{"role": "a\r\nx-evil: 1", "content": 7, "é\r\n": 1}]}).encode()
    with started(mode="manage") as gateway:
        answer = ask(gateway, "POST", CHAT, odd)
        assert answer.status == 200
        assert answer.getheader("x-evil") is None
        assert answer.getheader("x-pageturn").startswith("passed")


@given(st.text())
def test_a_told_header_is_printable_ascii(text):
    assert all(32 <= byte < 127 for byte in as_header(text))
    assert len(as_header(text)) <= 1_000


@given(st.text(alphabet="./%2eE5cC\\ab\x00", max_size=30))
def test_no_path_that_is_not_odd_goes_up(tail):
    path = f"/v1/{tail}"
    if not is_odd(path):
        for plain in (path, unquote(path), unquote(unquote(path))):
            assert normpath(plain.removeprefix("/v1/").lstrip("/") or ".").split("/")[0] != ".."
