"""What a budget is charged where something is lost: never less than a provider may bill."""

import http.client
import json
import threading
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from pageturn.apps.gateway.endpoints import endpoint_of
from pageturn.apps.gateway.exchange import Exchange
from pageturn.apps.gateway.items import ItemReader
from pageturn.apps.gateway.routes.requests import read_outline
from pageturn.apps.gateway.telemetry import reporting
from pageturn.apps.gateway.tenants.most_cost import Bounded, most_dollars, most_input, most_output
from pageturn.tokens.counters import counter_for
from pageturn.values.errors import InvalidInput
from pageturn.values.model_prices import price_of
from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES, answer, events, reply
from tests.apps.gateway.test_tenants import body, call, eventually, give, guarded, spent  # noqa: F401 - fixtures
from tests.apps.gateway.upstream import Reply

MOST = 10_000 * 10 / 1e6  # dollars of an answer of 10,000 tokens, the least that such a request may cost


def outline(path=CHAT, **fields):
    key = "input" if path == RESPONSES else "messages"
    told = json.dumps({"model": "gpt-5", key: [{"role": "user", "content": "Hi."}], **fields}, ensure_ascii=False)
    endpoint = endpoint_of("POST", path, (), "openai")
    return read_outline(Exchange(endpoint, "POST", "", (), told.encode()), ItemReader())


def test_a_call_that_telemetry_drops_stays_charged(guarded, ask, upstream, give, store, monkeypatch):  # noqa: F811
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    plain, key = give(budget=5.0)
    size = len(body(max_tokens=10_000)) + len(json.dumps(answer(CHAT, "Hello yourself.")))
    monkeypatch.setattr(reporting, "_MOST_WAITING_BYTES", size * 3 // 2)  # room for one call
    reads = threading.Event()
    read = reporting.Reporter._call_of
    monkeypatch.setattr(reporting.Reporter, "_call_of", lambda self, passed: reads.wait(20) and read(self, passed))
    with guarded() as gateway:
        for _ in range(4):  # the first is being read, and the next ones find no room
            assert call(ask, gateway, plain, max_tokens=10_000)[0].status == 200
        reads.set()
    assert 2 * MOST <= spent(store, key) < 4 * MOST


def test_a_call_that_telemetry_cannot_read_stays_charged(guarded, ask, upstream, give, store, monkeypatch):  # noqa: F811
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    plain, key = give(budget=5.0)
    monkeypatch.setattr(reporting, "identity_of", lambda _: 1 / 0)
    with guarded() as gateway:
        assert call(ask, gateway, plain, max_tokens=10_000)[0].status == 200
    assert spent(store, key) >= MOST


@pytest.mark.parametrize("begun", [0, 2])
@pytest.mark.parametrize("path", [ANTHROPIC, CHAT])
def test_a_client_that_leaves_early_pays_for_the_answer(guarded, ask, upstream, give, store, path, begun):  # noqa: F811
    """Before the first byte nothing tells what the provider bills, and the usage at the beginning of a stream is not all."""
    asks, never = threading.Event(), threading.Event()
    pieces = events(path, "Hello yourself.")[:begun]

    def stuck(_):
        asks.set()
        if not begun:
            never.wait(20)
        return Reply([*pieces, never], headers=[("content-type", "text/event-stream")])

    upstream.answer = stuck
    plain, key = give(budget=5.0)
    model = "claude-opus-5" if path == ANTHROPIC else "gpt-5"
    with guarded() as gateway, closing(http.client.HTTPConnection(urlsplit(gateway.url).netloc)) as connection:
        headers = {"x-api-key": plain} if path == ANTHROPIC else {"authorization": f"Bearer {plain}"}
        connection.request("POST", path, body(path, model=model, max_tokens=10_000, stream=True), headers)
        assert asks.wait(20)
        if begun:
            connection.getresponse().read(1)
    never.set()  # the gateway has ended, so that it noticed before
    assert spent(store, key) >= MOST


def test_an_upstream_that_is_not_there_costs_nothing(guarded, ask, give, store):  # noqa: F811
    plain, key = give(budget=5.0)
    with guarded(openai="http://127.0.0.1:1/v1") as gateway:
        assert call(ask, gateway, plain)[0].status == 502
        assert eventually(lambda: spent(store, key) == 0.0)


def test_the_most_output_is_that_of_the_largest_limit_for_every_choice():
    assert most_output(outline(max_tokens=1, max_completion_tokens=100_000)) == 100_000
    assert most_output(outline(n=128, max_tokens=1_000)) == 128_000
    assert most_output(outline(n=3)) == 3 * most_output(outline()) >= 3 * 128_000
    assert most_output(outline(RESPONSES, max_output_tokens=7)) == 7


@pytest.mark.parametrize("fields", [{"n": "128"}, {"n": 1.5}, {"max_tokens": "9"}, {"max_completion_tokens": -1}, {"n": True}])  # fmt: skip
def test_a_limit_that_is_no_number_is_refused(guarded, ask, upstream, give, fields):  # noqa: F811
    with pytest.raises(InvalidInput):
        most_output(outline(**fields))
    plain, _ = give(budget=5.0)
    with guarded() as gateway:
        assert call(ask, gateway, plain, **fields)[0].status == 400
    assert upstream.asked == []


@pytest.mark.parametrize("text", ["你好，世界。" * 200, "🜁🜂🜃🜄" * 100, "Fix the bug. " * 100, "\x00\x01" * 200])
@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-5"])
def test_no_prompt_has_more_tokens_than_are_reserved(text, model):
    assert most_input(outline(messages=[{"role": "user", "content": text}]), model) >= counter_for(model).text(text)


def test_pictures_count_by_the_rules_of_their_model_and_files_as_a_full_window():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400_000}}
    two = outline(messages=[{"role": "user", "content": [picture, picture]}])
    assert 2 * 1_000 < most_input(two, "gpt-5") < 20_000
    file = {"type": "input_file", "file_id": "file-1"}
    assert most_input(outline(RESPONSES, input=[{"role": "user", "content": [file]}]), "gpt-5") >= 256_000
    assert most_input(outline(RESPONSES, previous_response_id="resp_1"), "gpt-5", 400_000) >= 400_000


def test_a_cache_for_an_hour_is_reserved_at_its_price():
    price = price_of("claude-opus-5")
    marked = {"type": "text", "text": "x" * 10_000, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    long = outline(ANTHROPIC, max_tokens=0, messages=[{"role": "user", "content": [marked]}])
    assert most_dollars(long, [Bounded("claude-opus-5", price)]) >= 10_000 * price.cache_write_1h / 1e6
