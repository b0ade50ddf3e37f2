"""Keys that the gateway gives out: what they allow, what they cost, that nothing is open without one, and that nobody sees another's."""

import json
import random
import sqlite3
import threading
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime

import pytest

import pageturn as pt
from pageturn.apps.gateway.tenants.keys import Keys
from pageturn.apps.gateway.tenants.spending import Spending
from pageturn.stores import open_store
from pageturn.values.errors import InvalidInput
from tests.apps.cli.command import run
from tests.apps.gateway.agent import Agent, Provider
from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES, reply
from tests.apps.gateway.upstream import Reply

OURS = "sk-upstream-0123456789"
SETTINGS = '[upstreams.openai]\nkey = "env:OUR_KEY"\n[upstreams.anthropic]\nkey = "env:OUR_KEY"\n{more}'
ROUTED = '[models.coder]\ncandidates = [{ upstream = "openai", model = "gpt-5" }, { upstream = "anthropic", model = "claude-opus-5" }]'  # fmt: skip


@pytest.fixture
def give(store):
    """Make a key."""

    def give_(scope="team", **allowed):
        with closing(open_store(str(store))) as opened:
            return Keys(opened).create(scope, **allowed)

    return give_


@pytest.fixture
def guarded(started, tmp_path, monkeypatch):
    """Start a gateway that wants keys of its own."""
    monkeypatch.setenv("OUR_KEY", OURS)

    @contextmanager
    def start(more="", **flags):
        file = tmp_path / "config.toml"
        file.write_text(SETTINGS.format(more=more))
        with started(file=file, keys="virtual", **flags) as gateway:
            yield gateway

    return start


def body(path=CHAT, text="Hello.", model="gpt-5", **more):
    key = "input" if path == RESPONSES else "messages"
    return json.dumps({"model": model, key: [{"role": "user", "content": text}], "max_tokens": 100, **more}).encode()


def call(ask, gateway, key, path=CHAT, headers=(), **more):
    name = {"x-api-key": key} if path == ANTHROPIC else {"authorization": f"Bearer {key}"}
    answer = ask(gateway, "POST", path, body(path, **more), {**name, **dict(headers)})
    return answer, answer.read()


def spent(store, key):
    with closing(open_store(str(store))) as opened:
        return Spending(opened).spent(key, datetime.now(UTC))


def eventually(look):
    end = time.monotonic() + 20
    while not (found := look()) and time.monotonic() < end:
        time.sleep(0.01)
    return found


@pytest.mark.parametrize("path", [ANTHROPIC, CHAT, RESPONSES])
def test_a_key_of_the_gateway_is_exchanged_for_the_providers(guarded, ask, upstream, give, path):
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    plain, _ = give()
    with guarded() as gateway:
        answer, _ = call(ask, gateway, plain, path)
        assert answer.status == 200
    (asked,) = upstream.asked
    assert asked.header("x-api-key" if path == ANTHROPIC else "authorization") == (OURS if path == ANTHROPIC else f"Bearer {OURS}")  # fmt: skip
    assert plain not in str(asked.headers)


@pytest.mark.parametrize("key", ["", "sk-somebody", "pgt-guess", "pgt-" + "x" * 43, "é"])
def test_without_a_key_nothing_is_open(guarded, ask, upstream, give, key):
    give()
    header = {"authorization": f"Bearer {key}".encode("latin-1")} if key else {}
    with guarded(ROUTED) as gateway:
        for method, path, status in [
            ("POST", CHAT, 401),
            ("POST", ANTHROPIC, 401),
            ("GET", "/v1/models", 401),
            ("GET", "/v1/files", 401),
            ("GET", "/metrics", 401),
            ("POST", "/outcomes", 401),
            ("GET", "/healthz", 200),
        ]:
            answer = ask(gateway, method, path, body() if method == "POST" else None, header)
            assert (path, answer.status) == (path, status)
            assert b"turns" not in answer.read()
    assert upstream.asked == []


def test_a_revoked_key_is_none(guarded, ask, upstream, give, store):
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    plain, key = give()
    with guarded() as gateway:
        assert call(ask, gateway, plain)[0].status == 200
        assert run("keys", "revoke", store, key.id).returncode == 0
        assert call(ask, gateway, plain)[0].status == 401


def test_only_known_paths_are_open_to_a_key(guarded, ask, upstream, give):
    plain, _ = give()
    header = {"authorization": f"Bearer {plain}"}
    with guarded() as gateway:
        for path in ("/v1/files", "/v1/responses/resp_1", "/v1/organization/api_keys", "/", "/v1/models/../files"):
            assert ask(gateway, "GET", path, None, header).status == 404
        assert ask(gateway, "GET", "/v1/models", None, header).status == 200
        assert ask(gateway, "GET", "/v1/models", None, {**header, "chatgpt-account-id": "a"}).status == 404
    (asked,) = upstream.asked
    assert asked.header("authorization") == f"Bearer {OURS}"


def test_models_that_a_key_has_not_look_as_if_they_were_not_there(guarded, ask, upstream, give):
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    plain, _ = give(models=("gpt-5",))
    with guarded() as gateway:
        assert call(ask, gateway, plain)[0].status == 200
        answers = [call(ask, gateway, plain, model=model) for model in ("gpt-5-mini", "no-such-model")]
    assert [answer.status for answer, _ in answers] == [404, 404]
    assert answers[0][1] == answers[1][1]


def test_a_limit_of_requests_and_one_of_tokens(guarded, ask, upstream, give):
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    few, _ = give(requests_a_minute=2)
    short, _ = give(tokens_a_minute=1_000)
    with guarded() as gateway:
        assert [call(ask, gateway, few)[0].status for _ in range(4)] == [200, 200, 429, 429]
        answer, _ = call(ask, gateway, short, text="x" * 8_000)
        assert (answer.status, answer.getheader("x-pageturn")) == (429, "refused; limit")
        assert call(ask, gateway, short)[0].status == 200


def test_a_budget_is_charged_by_what_the_provider_counted_and_holds(guarded, ask, upstream, give, store):
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    plain, key = give(budget=0.02)
    cost = (100 * 1.25 + 900 * 0.125 + 7 * 10) / 1e6  # of an answer of the script: 1,000 in, 900 of them cached, 7 out
    with guarded() as gateway:
        assert call(ask, gateway, plain)[0].status == 200
        assert eventually(lambda: abs(spent(store, key) - cost) < 1e-9)
        answer, text = call(ask, gateway, plain, max_tokens=10_000)  # which might cost ten cents
        assert (answer.status, b"has no room" in text) == (402, True)
        assert call(ask, gateway, plain)[0].status == 200
    assert spent(store, key) == pytest.approx(2 * cost)


def test_what_was_cut_is_charged_in_full_and_what_was_refused_not_at_all(guarded, ask, upstream, give, store):
    plain, key = give(budget=5.0)
    with guarded() as gateway:
        upstream.answer = lambda _: Reply([b"{}"], status=500)
        call(ask, gateway, plain)
        assert eventually(lambda: spent(store, key) == 0.0)
        upstream.answer = lambda _: Reply([b'data: {"id": "x"}\n\n'], is_cut=True)
        with pytest.raises(Exception, match="IncompleteRead"):
            call(ask, gateway, plain, stream=True)
    assert spent(store, key) >= 100 * 10 / 1e6


def test_many_requests_at_once_do_not_exceed_a_budget(guarded, ask, upstream, give):
    waits = threading.Event()
    upstream.answer = lambda asked: reply(asked, "Hm.")._replace(pieces=[waits, *reply(asked, "Hm.").pieces])
    plain, _ = give(budget=0.0035)  # three times what 100 tokens of an answer may cost
    statuses = []
    with guarded() as gateway:
        threads = [threading.Thread(target=lambda: statuses.append(call(ask, gateway, plain)[0].status)) for _ in range(8)]  # fmt: skip
        for thread in threads:
            thread.start()
        assert eventually(lambda: len(statuses) >= 5)
        waits.set()
        for thread in threads:
            thread.join()
    assert sorted(statuses) == [200, 200, 200, 402, 402, 402, 402, 402]


def test_a_model_without_a_price_is_not_for_a_key_with_a_budget(guarded, ask, upstream, give):
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    bounded, _ = give(budget=5.0)
    free, _ = give()
    with guarded() as gateway:
        assert call(ask, gateway, bounded, model="nobody-knows-it")[0].status == 403
        assert call(ask, gateway, free, model="nobody-knows-it")[0].status == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"[]",
        b'{"messages": []}',
        b'{"model": 7}',
        b"\x1f\x8b",
        b"",
        b'{"model": "gpt-5", "messages": [], "conversation": "\xae"}',
        b'{"model": "gpt-5", "messages": [], "max_tokens": "\xae"}',
    ],
)
def test_a_body_that_nobody_can_read_does_not_pass(guarded, ask, upstream, give, raw):
    plain, _ = give()
    with guarded() as gateway:
        assert ask(gateway, "POST", CHAT, raw, {"authorization": f"Bearer {plain}"}).status == 400
    assert upstream.asked == []


def test_a_store_that_fails_lets_nobody_in(guarded, ask, upstream, give, store):
    upstream.answer = lambda asked: reply(asked, "Hello yourself.")
    plain, _ = give()
    with guarded() as gateway:
        call(ask, gateway, plain)
        before = len(upstream.asked)
        with closing(sqlite3.connect(store, isolation_level=None)) as held:
            held.execute("BEGIN EXCLUSIVE")
            for _ in range(3):
                answer, _ = call(ask, gateway, plain)
                assert answer.status == 503
        assert len(upstream.asked) == before
        assert eventually(lambda: call(ask, gateway, plain)[0].status == 200)


@pytest.mark.parametrize("more", ["", ROUTED])
def test_settings_under_which_a_key_would_leave_are_refused(started, tmp_path, more):
    file = tmp_path / "config.toml"
    file.write_text(more)
    with pytest.raises(InvalidInput, match="a key of the gateway"), started(file=file, keys="virtual"):
        pass
    with pytest.raises(InvalidInput, match="keys are in it"), started(file=file, keys="virtual", store="none"):
        pass


def test_an_answer_of_another_scope_is_one_that_does_not_exist(guarded, ask, upstream, give, caplog):
    upstream.answer = lambda asked: reply(asked, "The secret is lily.", id_="secret")
    mine, _ = give("mine")
    theirs, _ = give("theirs")
    with guarded() as gateway:
        secret = json.loads(call(ask, gateway, mine, RESPONSES)[1])["id"]
        assert call(ask, gateway, mine, RESPONSES, previous_response_id=secret)[0].status == 200
        other = call(ask, gateway, theirs, RESPONSES, previous_response_id=secret)
        none = call(ask, gateway, theirs, RESPONSES, previous_response_id="resp_nothing")
        assert call(ask, gateway, theirs, RESPONSES, conversation="conv_1")[0].status == 400
    assert (other[0].status, other[1]) == (none[0].status, none[1]) == (404, other[1])
    assert "denied: key" in caplog.text


@pytest.mark.parametrize("mode", ["watch", "manage", "recall"])
def test_the_same_name_of_a_session_is_two_sessions(guarded, ask, upstream, give, store, mode):
    upstream.answer = lambda asked: reply(asked, "Noted.")
    mine, _ = give("mine")
    theirs, _ = give("theirs")
    name = {"x-pageturn-session": "login-bug"}
    with guarded(mode=mode) as gateway:
        call(ask, gateway, mine, headers=name, text="The secret is lily.")
        call(ask, gateway, theirs, headers=name, text="What is the secret?")
    with closing(open_store(str(store))) as opened:
        rows = {row.scope: row.id for row in opened.sessions()}
        texts = {scope: str(pt.SessionReader.open(opened, id_, scope=scope).messages()) for scope, id_ in rows.items()}
    assert set(rows) == {"mine", "theirs"}
    assert "lily" in texts["mine"]
    assert "lily" not in texts["theirs"]


def test_a_decision_of_another_scope_is_one_that_does_not_exist(guarded, ask, upstream, give):
    upstream.answer = lambda asked: reply(asked, "Noted.")
    mine, _ = give("mine")
    theirs, _ = give("theirs")

    def report(gateway, key, decision):
        told = json.dumps({"decision": decision, "outcome": "failure"}).encode()
        return ask(gateway, "POST", "/outcomes", told, {"authorization": f"Bearer {key}"}).status

    with guarded(ROUTED) as gateway:
        decision = call(ask, gateway, mine, model="coder")[0].getheader("x-pageturn-decision").partition(";")[0]
        assert report(gateway, theirs, decision) == report(gateway, theirs, "nothing") == 404
        assert report(gateway, mine, decision) == 200


def test_nothing_of_one_tenant_reaches_another(guarded, ask, upstream, give, store):
    """Random conversations of two tenants with the same names, and each one's words searched in what the other's model was sent."""
    chance = random.Random(7)
    provider = Provider(CHAT)
    bodies = {"red": [], "blue": []}

    def answer(asked):
        bodies["red" if b"red-" in asked.body else "blue"].append(asked.body)
        return provider(asked)

    upstream.answer = answer
    with guarded(mode="recall", room=4_000) as gateway:
        agents = []
        for scope in bodies:
            plain, _ = give(scope)
            for number in range(2):
                agent = Agent(CHAT, {"authorization": f"Bearer {plain}", "x-pageturn-session": f"s{number}"})
                agent.says(f"{scope}-{number}: find the bug.")
                agents.append(agent)
        for _ in range(40):
            chance.choice(agents).works(ask, gateway, 1)
    assert all(len(each) > 10 for each in bodies.values())
    assert all(b"blue-" not in each for each in bodies["red"])
    assert all(b"red-" not in each for each in bodies["blue"])
    with closing(open_store(str(store))) as opened:
        for row in opened.sessions():
            words = str(pt.SessionReader.open(opened, row.id, scope=row.scope).messages())
            assert {"red": "blue-", "blue": "red-"}[row.scope] not in words


def test_keys_from_the_command_line(tmp_path):
    store = tmp_path / "new" / "keys.db"
    made = run("keys", "create", store, "--scope", "team", "--budget", "20", "--model", "coder", "--name", "Ada", "--requests-a-minute", "60")  # fmt: skip
    plain = made.stdout.strip()
    assert plain.startswith("pgt-")
    listed = run("keys", "list", store)
    assert all(word in listed.stdout for word in ("Ada", "team", "$20.00 a month", "60 requests", "coder"))
    with closing(open_store(str(store))) as opened:
        key = Keys(opened).find(plain)
        assert (key.scope, key.models, key.budget) == ("team", ("coder",), 20.0)
    assert all(plain.encode() not in file.read_bytes() for file in store.parent.iterdir())
    assert run("keys", "revoke", store, "nobody").returncode == 1
    assert run("keys", "revoke", store, key.id).returncode == 0
    assert "revoked" in run("keys", "list", store).stdout
    assert run("keys", "create", store, "--scope", "").returncode == 1
