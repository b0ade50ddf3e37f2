"""Names that clients use stand for candidates: who is chosen, who answers instead, what is learned, and that keys stay where they belong."""

import json
import sqlite3
import threading
from contextlib import closing, contextmanager

import pytest

import pageturn as pt
from pageturn.apps.gateway.config import load_config
from pageturn.apps.gateway.endpoints import endpoint_of
from pageturn.apps.gateway.exchange import Exchange
from pageturn.apps.gateway.routes.chooser import Chooser
from pageturn.apps.gateway.routes.requests import read_outline
from pageturn.apps.gateway.routes.settings import Candidate, RoutedModel
from pageturn.apps.gateway.trouble import impatient
from pageturn.routing import Limits
from pageturn.stores import MemorySidecars
from pageturn.values.errors import InvalidInput, StoreError
from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES, reply
from tests.apps.gateway.upstream import Reply, upstream

SETTINGS = """
[upstreams.near]
url = "{near}/v1"
format = "{format}"
key = "env:NEAR_KEY"

[upstreams.far]
url = "{far}/v1"
format = "{format}"
key = "file:{key}"

[models.coder]
{more}
candidates = [
  {{ upstream = "near", model = "small", price = [1, 5, 0.1], window = {near_window}{near_more} }},
  {{ upstream = "far", model = "large", price = [2, 10, 0.2], window = 400000{far_more} }},
]
"""
NEAR_KEY, FAR_KEY, CLIENT_KEY = "sk-near-4711", "sk-far-0815", "sk-client-2222"
MODELS = {"small": "near", "large": "far"}


class Two:
    """Two upstreams, and a gateway that chooses between them."""

    def __init__(self, near, far):
        self.near, self.far = near, far

    @property
    def asked(self):
        return [*self.near.asked, *self.far.asked]

    def answers(self, near=None, far=None):
        self.near.answer = near or (lambda asked: reply(asked, "from near", id_="n"))
        self.far.answer = far or (lambda asked: reply(asked, "from far", id_="f"))


@pytest.fixture
def two(started, tmp_path, monkeypatch):
    """Start a gateway with two candidates for `coder`, of which the first is the cheaper."""
    monkeypatch.setenv("NEAR_KEY", NEAR_KEY)
    key = tmp_path / "far.key"
    key.write_text(f"{FAR_KEY}\n")
    with upstream() as near, upstream() as far:

        @contextmanager
        def start(format_="openai", more="", near_more="", far_more="", near_window=20_000, **flags):
            file = tmp_path / "config.toml"
            file.write_text(
                SETTINGS.format(near=near.url, far=far.url, key=key, format=format_, more=more, near_more=near_more, far_more=far_more, near_window=near_window)
            )  # fmt: skip
            with started(file=file, **flags) as gateway:
                gateway.two = Two(near, far)
                gateway.two.answers()
                yield gateway

        yield start


def body(path, text="Hello.", model="coder", **more):
    key = "input" if path == RESPONSES else "messages"
    return json.dumps({"model": model, key: [{"role": "user", "content": text}], "max_tokens": 9, **more}).encode()


def error(status, headers=(), text="no"):
    told = json.dumps({"error": {"message": text, "type": "x"}}).encode()
    return lambda _: Reply([told], status=status, headers=headers, is_chunked=False)


def call(ask, gateway, path=CHAT, text="Hello.", **more):
    headers = {"authorization": f"Bearer {CLIENT_KEY}", "x-api-key": CLIENT_KEY, "cookie": CLIENT_KEY}
    return ask(gateway, "POST", path, body(path, text, **more), headers)


def decisions(store):
    with pt.Router.open(str(store)) as router:
        return [entry for _, entry in router.beliefs.log()]


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("path", [ANTHROPIC, CHAT, RESPONSES])
def test_a_routed_name_goes_to_a_candidate_with_its_model_and_key_and_says_why(two, ask, path, streams):
    with two("anthropic" if path == ANTHROPIC else "openai") as gateway:
        answer = call(ask, gateway, path, stream=streams)
        text = answer.read()
        (asked,) = gateway.two.asked
        told = answer.getheader("x-pageturn-decision")
    model = json.loads(asked.body)["model"]
    assert answer.status == 200
    assert MODELS[model].encode() in text  # a stream has it in two pieces, "fro" and "m near"
    assert f"; {MODELS[model]}/{model}; " in told
    key = {"small": NEAR_KEY, "large": FAR_KEY}[model]
    wanted = ("x-api-key", key) if path == ANTHROPIC else ("authorization", f"Bearer {key}")
    assert wanted in asked.headers
    assert CLIENT_KEY not in str(asked.headers)
    assert json.loads(asked.body)["max_tokens"] == 9


def test_another_model_and_another_path_pass_as_ever(two, ask, upstream):
    with two() as gateway:
        call(ask, gateway, model="gpt-5").read()
        ask(gateway, "POST", "/v1/embeddings", b"{}").read()
        assert gateway.two.asked == []
    assert [asked.body for asked in upstream.asked] == [body(CHAT, model="gpt-5"), b"{}"]
    assert ("authorization", f"Bearer {CLIENT_KEY}") in upstream.asked[0].headers


@pytest.mark.parametrize(
    ("failing", "why"),
    [
        (error(500), "status 500"),
        (error(529), "status 529"),
        (error(429, [("retry-after", "30")]), "status 429"),
        (error(404), "status 404"),
        (error(401), "status 401"),
        (lambda _: Reply([], is_cut=True), "broke off"),
        (lambda _: Reply([b'data: {"error": {"type": "overloaded_error"}}\n\n']), "status 529 in the stream"),
    ],
)
def test_a_client_sees_no_failure_where_another_candidate_answers(two, ask, store, failing, why):
    with two(near_more=", requests_a_minute = 1000", more="value = 0.0") as gateway:  # so that the cheaper one is asked
        gateway.two.answers(near=failing)
        answer = call(ask, gateway, stream=True)
        text = answer.read()
        assert (answer.status, b"far" in text) == (200, True)
        assert len(gateway.two.near.asked) == len(gateway.two.far.asked) == 1
        assert f"failed before: near/small: {why}" in answer.getheader("x-pageturn-decision").replace("the answer ", "")
    first, second = decisions(store)
    assert (first.decision.choice, second.decision.choice) == ("near/small", "far/large")
    assert first.is_settled


def test_an_upstream_that_gives_no_first_byte_is_left_in_time(two, ask):
    never = threading.Event()
    with two(more="value = 0.0\nfirst_byte_seconds = 0.2") as gateway:
        gateway.two.answers(near=lambda _: Reply([never, b"late"]))
        answer = call(ask, gateway, stream=True)
        assert b"far" in answer.read()
        assert "no first byte in 0.2 seconds" in answer.getheader("x-pageturn-decision")
        assert gateway.two.near.was_left.wait(10)
        never.set()


def test_an_outage_of_the_favourite_costs_at_most_three_failures_and_no_client_sees_one(two, ask):
    with two(more="value = 0.0") as gateway:
        for number in range(3):
            assert b"near" in call(ask, gateway, text=f"before {number}").read()
        gateway.two.answers(near=error(503))
        before = len(gateway.two.near.asked)
        for number in range(30):
            answer = call(ask, gateway, text=f"task {number}")
            assert (answer.status, b"far" in answer.read()) == (200, True)
        assert len(gateway.two.near.asked) - before <= 3


def test_a_rest_that_was_asked_for_is_kept_by_another_gateway_on_the_store(two, ask):
    with two(more="value = 0.0") as gateway:
        gateway.two.answers(near=error(429, [("retry-after", "600")]))
        call(ask, gateway).read()
        with two(more="value = 0.0") as other:
            other.two.near.forget()
            call(ask, other, text="Another task.").read()
            assert other.two.near.asked == []


def test_where_nobody_answers_the_client_has_the_last_error(two, ask):
    with two(more="value = 0.0") as gateway:
        gateway.two.answers(near=error(500, text="near is down"), far=error(503, text="far is down"))
        answer = call(ask, gateway)
        assert (answer.status, json.loads(answer.read())["error"]["message"]) == (503, "far is down")


def test_an_error_that_nobody_else_could_mend_is_the_clients(two, ask):
    with two(more="value = 0.0") as gateway:
        gateway.two.answers(near=error(400, text="temperature must be a number"))
        answer = call(ask, gateway)
        assert (answer.status, b"temperature" in answer.read()) == (400, True)
        assert gateway.two.far.asked == []


def test_a_prompt_that_is_too_long_goes_to_a_longer_window(two, ask):
    too_long = error(400, text="prompt is too long: 25000 tokens > 20000 maximum")
    with two(more="value = 0.0") as gateway:
        gateway.two.answers(near=too_long)
        assert b"far" in call(ask, gateway, text="x " * 20_000).read()
        gateway.two.near.forget()
        assert b"far" in call(ask, gateway, text="y " * 50_000).read()  # about 25,000 tokens: nobody asks the short one
        assert gateway.two.near.asked == []


def test_a_conversation_stays_where_its_prompt_is_cached_and_another_goes_where_it_is_cheaper(two, ask):
    history = [{"role": "user", "content": "x" * 300_000}]
    with two(more="value = 0.0", near_window=200_000) as gateway:
        gateway.two.answers(near=error(404))
        for _ in range(4):
            assert b"far" in call(ask, gateway, messages=history).read()
            gateway.two.answers()
            history = [*history, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Next."}]
        assert b"near" in call(ask, gateway, messages=[{"role": "user", "content": "y" * 40_000}]).read()
    assert len(gateway.two.near.asked) == 2


def test_outcomes_are_taken_once_and_may_be_corrected(two, ask, store):
    def report(gateway, **told):
        answer = ask(gateway, "POST", "/outcomes", json.dumps(told).encode())
        return answer.status, json.loads(answer.read())

    with two() as gateway:
        decision = call(ask, gateway).getheader("x-pageturn-decision").partition(";")[0]
        assert report(gateway, decision=decision, outcome="success") == (200, {"counted": True})
        assert report(gateway, decision=decision, outcome=1) == (200, {"counted": False})
        status, told = report(gateway, decision=decision, outcome="failure")
        assert (status, "correction" in told["error"]["message"]) == (400, True)
        assert report(gateway, decision=decision, outcome=0.25, correct=True, seconds=3, money=0.5)[0] == 200
        status, told = report(gateway, decision="nobody-knows-it", outcome="success")
        assert (status, "a decision" in told["error"]["message"]) == (404, True)
        assert report(gateway, decision=decision)[0] == 400
        assert report(gateway, decision=decision, outcome="perhaps")[0] == 400
        assert report(gateway, decision=decision, outcome=7)[0] == 400
        assert report(gateway, decision=decision, outcome=True, colour=1)[0] == 400
        assert ask(gateway, "POST", "/outcomes", b"{").status == 400
    (entry,) = decisions(store)
    assert (entry.verdict, entry.money) == (0.25, 0.5)


@pytest.mark.parametrize(
    ("then", "verdict"),
    [
        ([], 0.0),  # the same again
        ([{"role": "assistant", "content": "Hm."}, {"role": "user", "content": "Thanks."}], 1.0),
        (
            [
                {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "fine"},
            ],
            1.0,
        ),
    ],
)  # fmt: skip
def test_the_next_request_tells_how_the_answer_was(two, ask, store, then, verdict):
    history = [{"role": "user", "content": "Hello."}]
    with two() as gateway:
        call(ask, gateway, messages=history).read()
        call(ask, gateway, messages=[*history, *then]).read()
    first = min(decisions(store), key=lambda each: each.decision.at)
    assert (first.verdict, first.is_weak) == (verdict, True)


def test_a_store_that_is_gone_does_not_stop_the_routing(two, ask, store):
    with two(more="value = 0.0") as gateway:
        call(ask, gateway).read()
        with closing(_locked(store)):
            gateway.two.answers(near=error(500))
            answer = call(ask, gateway, text="While it is locked.")
            assert (answer.status, b"far" in answer.read()) == (200, True)


def _locked(store):
    connection = sqlite3.connect(store, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    return connection


@pytest.mark.parametrize("mode", ["manage", "recall"])
def test_routing_and_derived_contexts_go_together(two, ask, mode):
    with two(mode=mode, more="value = 0.0") as gateway:
        gateway.two.answers(near=error(500))
        assert b"far" in call(ask, gateway, messages=[{"role": "user", "content": "Hello."}], tools=[]).read()


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("[models.a]\ncandidates = []", "config.toml:2 (candidates)", "at least one"),
        ('[models.a]\ncandidates = [{upstream = "x", model = "m"}]', "config.toml:2 (candidates)", "an upstream"),
        ('[models.a]\ncandidates = [{upstream = "openai", model = "nobody-knows"}]', "(candidates)", "price ="),
        ('[models.a]\ncolour = 1\ncandidates = [{upstream = "openai", model = "gpt-5"}]', "config.toml:2 (colour)", "one of"),
        ('[models.a]\nvalue = -1\ncandidates = [{upstream = "openai", model = "gpt-5"}]', "config.toml:2 (value)", "a number"),
        ('[upstreams.a]\nurl = "http://h/v1"\nformat = "openai"', "(key)", "to forward theirs"),
        ('[upstreams.a]\nurl = "http://h/v1"\nformat = "openai"\nkey = "sk-verysecret"', "config.toml:4 (key)", "where the key is"),
        ('[upstreams.a]\nurl = "file:///etc/passwd"\nformat = "openai"\nkey = "client"', "config.toml:2 (url)", "a base URL"),
        ('[upstreams.a]\nformat = "openai"\nkey = "client"', "(url)", "a base URL"),
        ('[upstreams.a]\nurl = "http://h"\nformat = "smoke"\nkey = "client"', "config.toml:3 (format)", "anthropic, openai"),
        ('[models.a]\nscores = "none.csv"\ncandidates = [{upstream = "openai", model = "gpt-5"}]', "(scores)", "can be read"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused_with_their_place(tmp_path, text, place, expected):
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        load_config({}, file, {})
    assert place in str(caught.value)
    assert expected in str(caught.value)
    assert "verysecret" not in str(caught.value)


def test_a_key_that_is_missing_is_said_at_the_start(started, tmp_path):
    file = tmp_path / "config.toml"
    file.write_text(
        '[upstreams.a]\nurl = "http://h/v1"\nformat = "openai"\nkey = "env:NOT_SET"\n'
        '[models.m]\ncandidates = [{upstream = "a", model = "gpt-5"}]\n'
    )
    with pytest.raises(InvalidInput, match="env:NOT_SET: expected a key"), started(file=file):
        pass


def test_declared_scores_of_a_file_are_where_a_model_begins(two, ask, store, tmp_path):
    (tmp_path / "scores.csv").write_text("agent,score,source\nnear/small,0.1,own\nfar/large,0.9,own\n")
    with two(more='value = 10.0\nscores = "scores.csv"\nstrengths = { own = 200 }') as gateway:
        for number in range(5):
            assert b"far" in call(ask, gateway, text=f"task {number}").read()


@pytest.mark.parametrize(
    "messages", [b'[{"role": [{}], "content": 7}]', b'["\xae"]', b"7", b'[{"role": "user", "content": {"\xae": 1}}]']
)
def test_what_we_cannot_read_is_routed_all_the_same(two, ask, messages):
    """It is for the provider to say what is wrong with it; under the name of ours it would say something else."""
    with two() as gateway:
        gateway.two.answers(near=error(400, text="bad"), far=error(400, text="bad"))
        raw = b'{"model": "coder", "metadata": {"user_id": "\xae"}, "messages": ' + messages + b"}"
        answer = ask(gateway, "POST", CHAT, raw)
        assert (answer.status, json.loads(answer.read())["error"]["message"]) == (400, "bad")
        (asked,) = gateway.two.asked
    assert asked.body.startswith((b'{"model":"small"', b'{"model":"large"'))


def test_a_model_without_a_candidate_of_the_format_is_refused(two, ask):
    with two() as gateway:
        answer = call(ask, gateway, ANTHROPIC)
        assert answer.status == 400
        assert "no candidate of 'coder' speaks the format" in json.loads(answer.read())["error"]["message"]
        assert gateway.two.asked == []


class Locked(MemorySidecars):
    """A store that another process may lock, and that counts how often it was asked meanwhile."""

    is_locked = False
    refused = 0

    def _refuse(self):
        if self.is_locked:
            self.refused += 1
            raise StoreError("locked")

    def amend(self, *args, **more):
        self._refuse()
        return super().amend(*args, **more)

    def sidecar_version(self):
        self._refuse()
        return super().sidecar_version()


def test_a_locked_store_is_asked_once_in_a_while_and_no_request_waits_for_it(tmp_path):
    now, store = [0.0], Locked()
    routed = RoutedModel("coder", tuple(Candidate(f"near/{name}", None, name, None, Limits()) for name in ("a", "b")))
    chooser = Chooser(store, None, [routed], clock=lambda: now[0])

    def ask_(text):
        endpoint = endpoint_of("POST", CHAT, (), "openai")
        outline = read_outline(Exchange(endpoint, "POST", "", (), body(CHAT, text)), chooser.reader)
        chooser.learn(outline)
        decision = chooser.choose(routed, routed.candidates, outline, 100)
        chooser.answered(outline, decision, 100)
        return decision

    before = ask_("before")
    store.is_locked = True
    during = [ask_(f"{client} {number}") for client in range(12) for number in range(3)]
    assert (len(during), store.refused) == (36, 1)
    now[0] += 6.0
    during.append(ask_("later"))
    assert store.refused == 2
    chooser.failed(during[0], ConnectionError("it broke off"))
    store.is_locked = False
    assert chooser.observe(during[1].id, 0.0)  # also before the next request
    after = ask_("after")
    for decision in (before, *during[2:], after):  # outcomes of all of them can be reported
        assert chooser.observe(decision.id, 1.0)
    assert not chooser.observe(during[0].id, 0.0)  # which was learned while the store failed
    chooser.close()


def test_the_store_that_clients_wait_for_is_waited_for_a_moment():
    url = "sqlite:/data/gateway.db?durability=normal&wait_seconds=1"
    assert impatient(url) == "sqlite:/data/gateway.db?durability=normal&wait_seconds=0.25"
    assert impatient(":memory:") == ":memory:"


def test_outcomes_age_where_the_settings_say_so(two, ask, store, monkeypatch):
    with two(more="value = 0.0", half_life_days=30) as gateway:
        asked = call(ask, gateway)
        asked.read()
        assert gateway._dispatch._chooser._opened().beliefs._half_life.days == 30
    assert load_config({}, None, {"HOME": "/nowhere"}).half_life_days is None
    with pytest.raises(InvalidInput, match="half-life-days: expected a whole number above 0"):
        load_config({"half_life_days": 0}, None, {"HOME": "/nowhere"})
