"""Recorded requests of real clients through a watching gateway: not a byte is another, whatever breaks, and the journal has each once."""

import http.client
import json
import random
from collections import Counter
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from pageturn.apps.gateway.config import load_config
from pageturn.apps.gateway.journaling import Journaling
from pageturn.apps.gateway.server import Gateway
from pageturn.apps.gateway.watch import Watch
from pageturn.journal.reader import SessionReader, sessions
from tests.apps.gateway.upstream import WAIT, Reply
from tests.apps.gateway.upstream import upstream as scripted
from tests.clients.recording import recorded
from tests.clients.running import CLIENTS
from tests.clients.wires import WIRES

STREAM = [("content-type", "text/event-stream; charset=utf-8")]


@pytest.fixture(scope="module")
def server():
    with scripted() as state:
        yield state


@pytest.fixture
def upstream(server):
    server.forget()
    return server


@pytest.fixture(params=CLIENTS)
def exchanges(request):
    return recorded(request.param)


@contextmanager
def watching(upstream, store):
    flags = {"port": "0", "anthropic": upstream.url, "openai": f"{upstream.url}/v1", "store": str(store)}
    config = load_config(flags, None, {})
    with Gateway(config, Watch(Journaling(config.store))) as gateway:
        yield gateway


class Client:
    """A client of one gateway, which sends what was recorded."""

    def __init__(self, gateway):
        self._connection = http.client.HTTPConnection(urlsplit(gateway.url).netloc, timeout=WAIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    def ask(self, exchange):
        self._connection.request("POST", exchange.target, exchange.body, exchange.headers)
        return self._connection.getresponse()


def split(data, chance):
    """The same bytes in other pieces, also in the middle of an event and of a letter."""
    places = sorted(chance.sample(range(1, len(data)), min(20, len(data) - 1)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def require_same(upstream, exchange):
    asked = upstream.asked[-1]
    assert asked.body == exchange.body
    assert asked.target == exchange.target
    passed = {name: value for name, value in asked.headers if name in exchange.headers}
    assert passed == exchange.headers


def test_there_is_something_of_each_client(exchanges):
    assert len(exchanges) > 8
    assert any(b"tool" in each.body for each in exchanges)


def test_every_recorded_request_is_one_that_the_vendor_takes(exchanges, request):
    client = request.node.callspec.params["exchanges"]
    for each in exchanges:
        body = json.loads(each.body)
        found = WIRES[each.path].problems(body, whole=True)
        assert [p for p in found if not f"{p.code} {p.path}".startswith(CLIENTS[client].forgiven)] == []


def test_bytes_pass_unchanged_in_both_directions(exchanges, upstream, tmp_path):
    chance = random.Random(1)
    with watching(upstream, tmp_path / "gateway.db") as gateway, Client(gateway) as client:
        for each in exchanges:
            told = b"".join(each.answer)
            upstream.answer = lambda _, told=told: Reply(split(told, chance), headers=STREAM)
            answer = client.ask(each)
            assert answer.read() == told
            assert answer.getheader("x-pageturn") == "watching"
            require_same(upstream, each)
    once = calls_and_results(tmp_path / "gateway.db")
    assert once
    assert all(count == 1 for counts in once.values() for count in counts.values())
    seen = {fact for each in exchanges for fact in facts_of(each)}
    assert seen <= {fact for counts in once.values() for fact in counts}


def test_a_cut_is_a_cut_at_the_same_byte(exchanges, upstream, tmp_path):
    chance = random.Random(2)
    with watching(upstream, tmp_path / "gateway.db") as gateway:
        for each in exchanges:
            told = b"".join(each.answer)
            told = told[: chance.randrange(1, len(told))]
            upstream.answer = lambda _, told=told: Reply([told], headers=STREAM, is_cut=True)
            with Client(gateway) as client, pytest.raises(http.client.IncompleteRead) as cut:
                client.ask(each).read()
            assert cut.value.partial == told
            require_same(upstream, each)


def test_a_client_that_leaves_gets_what_came_and_the_next_one_gets_all(exchanges, upstream, tmp_path):
    with watching(upstream, tmp_path / "gateway.db") as gateway:
        for each in exchanges[:4]:
            told = b"".join(each.answer)
            upstream.answer = lambda _, told=told: Reply([told[:40], told[40:]], headers=STREAM)
            with Client(gateway) as client:
                assert told.startswith(client.ask(each).read(10))
            with Client(gateway) as client:
                assert client.ask(each).read() == told
    assert all(
        count == 1 for counts in calls_and_results(tmp_path / "gateway.db").values() for count in counts.values()
    )


@pytest.mark.parametrize("trouble", ["a folder", "no database", "read-only folder", "breaks"])
def test_a_store_that_fails_touches_nothing(exchanges, upstream, tmp_path, trouble, monkeypatch):
    store = tmp_path / "store" / "gateway.db"
    store.parent.mkdir()
    if trouble == "a folder":
        store.mkdir()
    elif trouble == "no database":
        store.write_bytes(b"this is no database" * 1000)
    elif trouble == "read-only folder":
        store = tmp_path / "nowhere" / "deep" / "gateway.db"
    else:
        monkeypatch.setattr(Journaling, "record", lambda *_: 1 / 0)
    with watching(upstream, store) as gateway, Client(gateway) as client:
        for each in exchanges:
            upstream.answer = lambda _, each=each: Reply(each.answer, headers=STREAM)
            assert client.ask(each).read() == b"".join(each.answer)
            require_same(upstream, each)


def calls_and_results(store):
    """Of each session, how often each call and each result is there."""
    found = {}
    for info in sessions(store):
        counts = found.setdefault(info.id, Counter())
        for message in SessionReader.open(store, info.id).messages():
            counts.update(("call", call.id) for call in message.tool_calls)
            counts.update(("result", part.tool_call_id) for part in message.content if hasattr(part, "tool_call_id"))
    return found


def facts_of(exchange):
    entries = WIRES[exchange.path].view(json.loads(exchange.body)).entries
    return {(entry.kind, entry.id) for entry in entries if entry.kind in ("call", "result")}
