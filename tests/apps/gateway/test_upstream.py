"""The client of the gateway: what came before a cut is given, whom it trusts, and by which proxy it goes."""

import asyncio
import socket
import ssl
import threading
from contextlib import contextmanager

import pytest

from pageturn.apps.gateway.upstream import Cut, Unreachable, UpstreamClient, origin, proxy_for, trusted
from pageturn.values.errors import InvalidInput
from tests.apps.gateway.upstream import Reply


@pytest.mark.parametrize("is_chunked", [True, False])
def test_what_came_before_a_cut_and_was_not_read_yet_is_given(upstream, is_chunked):
    is_read = threading.Event()
    upstream.answer = lambda _: Reply([b"first", is_read, b"second"], is_chunked=is_chunked, is_cut=True, length=99)

    async def read():
        client = UpstreamClient()
        await client.open()
        came = []
        try:
            async with client.ask("GET", upstream.url, (), None) as answer:
                chunks = answer.chunks()
                came.append(await anext(chunks))
                is_read.set()
                while answer._response.content.exception() is None:  # noqa: ASYNC110 - aiohttp tells nobody
                    await asyncio.sleep(0)  # so that the cut is noticed while nobody reads
                came.append(await anext(chunks))
                with pytest.raises(Cut):
                    await anext(chunks)
        finally:
            await client.close()
        return came

    assert asyncio.run(read()) == [b"first", b"second"]


def test_an_upstream_that_is_not_there_is_named_without_its_path():
    async def read():
        client = UpstreamClient()
        await client.open()
        try:
            async with client.ask("GET", "http://127.0.0.1:1/v1?key=canary", (), None):
                pass
        finally:
            await client.close()

    with pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:1 gave no answer") as error:
        asyncio.run(read())
    assert "canary" not in str(error.value)
    assert origin("https://user:canary@host/x?key=canary") == "https://host"


@contextmanager
def serving(answer):
    """A server that answers one connection with these bytes, and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)

        threads = [threading.Thread(target=serve, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        yield listening.getsockname()[1]


def reason_for(url, **environ):
    async def read():
        client = UpstreamClient()
        await client.open()
        try:
            async with client.ask("GET", url, (), None):
                pass
        finally:
            await client.close()

    with pytest.raises(Unreachable) as error:
        asyncio.run(read())
    return str(error.value).partition(" gave no answer ")[2]


def test_why_there_is_no_answer_is_said_in_plain_words(monkeypatch):
    async def unknown(*_, **__):
        raise OSError(-2, "Name or service not known")

    with serving(b"what is this\r\n\r\n") as port:
        assert reason_for(f"http://127.0.0.1:{port}") == "(what it answered is not HTTP)"
        assert reason_for(f"https://127.0.0.1:{port}") == "(it does not speak TLS as we do)"
    with serving(b"") as port:
        assert reason_for(f"http://127.0.0.1:{port}") == "(it closed the connection)"
    monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", unknown)
    assert reason_for("http://nowhere.invalid") == "(no address is known for that name; is this machine online?)"


def test_the_proxy_is_the_environments(monkeypatch):
    assert proxy_for("https://api.example.com/v1") is None
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:8080")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,.inner.example")
    assert proxy_for("https://api.example.com/v1") == "http://proxy.example:8080"
    assert proxy_for("https://api.inner.example/v1") is None
    assert proxy_for("http://127.0.0.1:9/v1") is None
    monkeypatch.setenv("HTTPS_PROXY", "socks5://proxy.example:1080")
    with pytest.raises(Unreachable, match="socks5"):
        proxy_for("https://api.example.com/v1")


def test_a_request_goes_through_the_proxy_that_the_environment_names(started, upstream, ask, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", upstream.url)
    with started(anthropic="http://provider.invalid") as gateway:
        ask(gateway, "POST", "/v1/messages", b"{}").read()
    assert upstream.asked[0].target == "http://provider.invalid/v1/messages"


def test_private_authorities_are_trusted(monkeypatch, tmp_path):
    file = ssl.get_default_verify_paths().cafile
    if file is None:
        pytest.skip("this system keeps no authorities in a file")
    empty = tmp_path / "none.pem"
    empty.write_text("")
    monkeypatch.setenv("SSL_CERT_FILE", str(empty))
    assert trusted(None).cert_store_stats()["x509_ca"] == 0
    assert trusted(file).cert_store_stats()["x509_ca"] > 0
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", file)
    assert trusted(None).cert_store_stats()["x509_ca"] > 0
    with pytest.raises(InvalidInput, match="ca_file: expected a file of certificates"):
        trusted(str(tmp_path / "missing.pem"))
