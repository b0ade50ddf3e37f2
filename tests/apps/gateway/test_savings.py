"""What watching says that managing would have saved, beside what managing then costs."""

import json

import pytest

from pageturn.apps.gateway.savings import account_of, lines
from pageturn.journal.reader import sessions
from pageturn.stores import open_store
from pageturn.values.model_prices import given_price, price_of
from pageturn.values.usage import Usage
from tests.apps.cli.command import run
from tests.apps.gateway.agent import ANTHROPIC, CHAT, MODELS, RESPONSES, Agent, Provider
from tests.apps.gateway.upstream import Reply

ROOM = 12_000
TURNS = 50


class Billing(Provider):
    """A provider that remembers the prompt before, block by block, and reports what it read and wrote."""

    def __init__(self, path):
        super().__init__(path)
        self.before = []
        self.reported = []

    def reply(self, asked, body):
        blocks = [json.dumps(body.get("tools")), json.dumps(body.get("system") or body.get("instructions"))]
        for item in body.get("messages") or body["input"]:
            content = item.get("content")
            parts = content if isinstance(content, list) else [item]
            blocks += [json.dumps({n: v for n, v in part.items() if n != "cache_control"}) for part in parts]
        shared = 0
        for ours, theirs in zip(blocks, self.before, strict=False):
            if ours != theirs:
                break
            shared += 1
        self.before = blocks
        sizes = [len(block) // 3 for block in blocks]
        read, tokens = sum(sizes[:shared]), sum(sizes)
        self.reported.append(Usage(input_tokens=tokens, output_tokens=20, cache_read_tokens=read, cache_write_tokens=tokens - read))  # fmt: skip
        reply = super().reply(asked, body)
        answer = json.loads(reply.pieces[0])
        if self.path == ANTHROPIC:
            answer["usage"] = {"input_tokens": 0, "cache_read_input_tokens": read, "cache_creation_input_tokens": tokens - read, "output_tokens": 20}  # fmt: skip
        elif self.path == CHAT:
            answer["usage"] = {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20, "prompt_tokens_details": {"cached_tokens": read}}  # fmt: skip
        else:
            answer["usage"] = {"input_tokens": tokens, "output_tokens": 20, "total_tokens": tokens + 20, "input_tokens_details": {"cached_tokens": read}}  # fmt: skip
        return Reply([json.dumps(answer).encode()], headers=reply.headers)


def worked(started, ask, upstream, path, mode, store):
    upstream.forget()
    upstream.answer = provider = Billing(path)
    agent = Agent(path, {"x-pageturn-session": "s"})
    agent.says("Find the bug.")
    with started(mode=mode, room=ROOM, store=str(store)) as gateway:
        agent.works(ask, gateway, TURNS, 2_000)
    assert provider.problems == []
    return provider


@pytest.mark.parametrize("path", [ANTHROPIC, CHAT, RESPONSES])
def test_the_estimate_of_watching_is_near_what_managing_costs(started, ask, upstream, tmp_path, path):
    watched = worked(started, ask, upstream, path, "watch", tmp_path / "a.db")
    managed = worked(started, ask, upstream, path, "manage", tmp_path / "b.db")
    price = price_of(MODELS[path])

    def cost(provider):
        shown = [u if path == ANTHROPIC else Usage(input_tokens=u.input_tokens, output_tokens=u.output_tokens, cache_read_tokens=u.cache_read_tokens) for u in provider.reported]  # fmt: skip
        return sum(map(price.dollars, shown))

    with_store = open_store(str(tmp_path / "a.db"))
    account = account_of(with_store, "s", room=ROOM)
    with_store.close()
    assert account.turns == TURNS
    assert account.dollars == pytest.approx(cost(watched))
    assert account.least <= account.most
    assert account.least == pytest.approx(cost(managed), rel=0.1)
    assert account.least < account.dollars
    sent = sum(usage.input_tokens for usage in managed.reported)
    assert account.otherwise.input_tokens == pytest.approx(
        sent, rel=0.03
    )  # though it counts folded text otherwise than we do
    with_store = open_store(str(tmp_path / "b.db"))
    other = account_of(with_store, "s", room=ROOM)
    with_store.close()
    assert other.is_managed
    asked = [len(asked.body) for asked in upstream.asked]
    assert other.sent_bytes == sum(asked)
    assert other.client_bytes > 1.3 * other.sent_bytes
    assert account.client_bytes == account.sent_bytes == other.client_bytes
    assert f"{other.client_bytes:,} bytes, of which {other.sent_bytes:,} went on" in " ".join(lines([other]))
    assert "cache" not in " ".join(lines([account, other]))
    assert other.dollars == pytest.approx(cost(managed))
    assert other.least == pytest.approx(cost(watched), rel=0.15)


class Composing(Billing):
    """Its calls name files after something that stood in a result long before."""

    def reply(self, asked, body):
        answered = super().reply(asked, body)
        if self.calls < 30:
            return answered
        (piece,) = answered.pieces
        return Reply([piece.replace(b"src/file_", b"src/value_2_").replace(b".py", b".txt")], headers=answered.headers)


@pytest.mark.parametrize(("provider_of", "is_range"), [(Billing, False), (Composing, True)])
def test_a_name_that_is_made_of_what_was_folded_counts_as_named(started, ask, upstream, store, provider_of, is_range):
    upstream.answer = provider_of(CHAT)
    agent = Agent(CHAT, {"x-pageturn-session": "s"})
    agent.says("Find the bug.")
    with started(mode="watch") as gateway:
        agent.works(ask, gateway, 38, 2_000)
    with_store = open_store(str(store))
    account = account_of(with_store, "s", room=ROOM // 2)
    with_store.close()
    assert account.folds
    assert (account.most > account.least) is is_range


def test_a_cache_that_is_broken_is_told(started, ask, upstream, tmp_path):
    upstream.answer = Billing(ANTHROPIC)
    agent = Agent(ANTHROPIC, {"x-pageturn-session": "s"})
    agent.says("Hello.")
    with started(mode="watch", store=str(tmp_path / "a.db")) as gateway:
        for number in range(12):
            agent.fields["tools"] = [{**agent.fields["tools"][0], "description": f"Read at {number}."}]
            agent.works(ask, gateway, 1)
    store = open_store(str(tmp_path / "a.db"))
    account = account_of(store, "s", room=ROOM)
    store.close()
    assert "s: only 0% of its input came from the provider's cache" in " ".join(lines([account]))


def test_an_unknown_price_is_never_nothing(started, ask, upstream, tmp_path):
    upstream.answer = Billing(CHAT)
    agent = Agent(CHAT, {"x-pageturn-session": "s"}, model="nobody-knows-1")
    agent.says("Hello.")
    with started(mode="watch", store=str(tmp_path / "a.db")) as gateway:
        agent.works(ask, gateway, 3)
    store = open_store(str(tmp_path / "a.db"))
    account = account_of(store, "s", room=ROOM)
    given = account_of(store, "s", room=ROOM, price=given_price("x", "1,2"))
    store.close()
    assert (account.dollars, account.least, account.most) == (None, None, None)
    told = " ".join(lines([account]))
    assert "no price is known of nobody-knows-1" in told
    assert "$" not in told
    assert "$" in " ".join(lines([given]))


@pytest.mark.parametrize("mode", ["watch", "manage", "recall"])
def test_a_login_is_billed_by_the_month(started, ask, upstream, tmp_path, mode):
    upstream.answer = Billing(ANTHROPIC)
    agent = Agent(
        ANTHROPIC, {"x-pageturn-session": "s", "authorization": "Bearer x", "anthropic-beta": "oauth-2025-04-20"}
    )
    agent.says("Hello.")
    with started(mode=mode, store=str(tmp_path / "a.db")) as gateway:
        agent.works(ask, gateway, 2)
    store = open_store(str(tmp_path / "a.db"))
    account = account_of(store, "s", room=ROOM)
    store.close()
    assert account.is_subscription
    assert "at list price" in next(iter(lines([account])))


def test_the_command_tells_it_for_every_session(started, ask, upstream, tmp_path):
    worked(started, ask, upstream, ANTHROPIC, "watch", tmp_path / "a.db")
    ran = run("savings", str(tmp_path / "a.db"), "--room", str(ROOM))
    assert ran.returncode == 0, ran.stderr
    assert f"{TURNS} watched turns took" in ran.stdout
    assert "managed they would have taken about" in ran.stdout
    assert "(an estimate)" in ran.stdout
    assert sessions(str(tmp_path / "a.db"))[0].id in ran.stdout
    (line,) = json.loads(run("savings", str(tmp_path / "a.db"), "--room", str(ROOM), "--json").stdout)["sessions"]
    assert (line["session"], line["turns"]) == (sessions(str(tmp_path / "a.db"))[0].id, TURNS)
    assert run("savings", str(tmp_path / "a.db"), "--session", line["session"][:6]).returncode == 0
    nothing = run("savings", str(tmp_path / "none.db"))
    assert nothing.returncode == 1
