"""Two tenants in one store over thousands of random operations: not a byte of one reaches the other, whatever is asked for."""

import copy
import itertools
import json
import random
import threading
from collections import Counter
from contextlib import closing, suppress

import pytest

import pageturn as pt
from pageturn.stores import open_store
from pageturn.values.errors import PageturnError
from tests.apps.gateway.agent import Agent
from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES
from tests.apps.gateway.test_recalling import JSON, response
from tests.apps.gateway.test_tenants import give, guarded  # noqa: F401 - fixtures
from tests.apps.gateway.upstream import Reply
from tests.long import examples, tell

TIMES = examples(60, whole=10_000)
SCOPES = ("crimson", "azure")  # the words of each begin with its name, and nothing else has it
ROUTED = '[models.coder]\ncandidates = [{ upstream = "openai", model = "gpt-5" }]\n[models.writer]\ncandidates = [{ upstream = "anthropic", model = "claude-opus-5" }]'  # fmt: skip
NAMES = {CHAT: "coder", RESPONSES: "coder", ANTHROPIC: "writer"}
LONGEST = 24  # items of a conversation, before a new one begins


class Provider:
    """Answers in the words of whoever asks, looks back where it is told to, and keeps what came of each."""

    def __init__(self):
        self.looks_for = None  # in place of the next answer, where the request has the recall tool
        self.leaks, self.recalls = [], 0
        self.numbers = itertools.count()
        self.lock = threading.Lock()

    def __call__(self, asked):
        with self.lock:
            body = asked.body.decode()
            there = [scope for scope in SCOPES if f"{scope}-" in body]
            if len(there) != 1:
                self.leaks.append((asked.target, there, body))
            number = next(self.numbers)
            parts = [("text", f"{there[0]}-answer {number}")] if there else [("text", "nothing")]
            if self.looks_for is not None and "recall" in {each.get("name") or each.get("function", {}).get("name") for each in json.loads(body).get("tools", [])}:  # fmt: skip
                parts = [("call", f"toolu_{number:016}", "recall", json.dumps(self.looks_for))]
                self.looks_for = None
                self.recalls += 1
            return Reply([json.dumps(response(asked.target, parts, f"r{number}")).encode()], headers=JSON)


class Tenant:
    """One scope: its key, its conversations, and what it knows of its own."""

    def __init__(self, scope, key, chance):
        self.scope, self.key, self.chance = scope, key, chance
        self.agents = []
        self.decisions, self.responses, self.heard = ["none"], ["resp_none"], []
        self.numbers = itertools.count()

    def words(self):
        filler = " ".join(f"line {at} of the file" for at in range(self.chance.randrange(60)))
        return f"{self.scope}-{next(self.numbers)} asks about the secret lily. {filler}"

    def agent(self):
        if len(self.agents) < 3 or self.chance.random() < 0.1:
            path = self.chance.choice((CHAT, ANTHROPIC, RESPONSES))
            headers = {"authorization": f"Bearer {self.key}"} if path != ANTHROPIC else {"x-api-key": self.key}
            name = {"x-pageturn-session": f"talk-{self.chance.randrange(6)}"}  # the other tenant has these names too
            self.agents.append(Agent(path, {**headers, **(name if self.chance.random() < 0.7 else {})}))
            self.agents[-1].fields["model"] = NAMES[path]
        found = self.chance.choice(self.agents)
        if len(found.history) > LONGEST:
            found.history.clear()
        return found


class World:
    """A gateway, and the two who use it."""

    def __init__(self, ask, gateway, store, tenants, provider, chance):
        self.ask, self.gateway, self.store = ask, gateway, str(store)
        self.tenants, self.provider, self.chance = tenants, provider, chance
        self.done = Counter()

    def step(self):
        mine, theirs = self.chance.sample(self.tenants, 2)
        acts = [self.talks] * 6 + [self.forks, self.looks_back, self.goes_on_elsewhere, self.reports, self.erases, self.reads, self.opens]  # fmt: skip
        act = self.chance.choice(acts)
        act(mine, theirs)
        self.done[act.__name__] += 1

    def talks(self, mine, _theirs, agent=None):
        agent = agent or mine.agent()
        agent.says(mine.words())
        answer, read = self.sent(mine, agent)
        if answer.status == 200:
            agent.take(json.loads(read))
            if decision := (answer.getheader("x-pageturn-decision") or "").partition(";")[0]:
                mine.decisions.append(decision)
            if agent.path == RESPONSES:
                mine.responses.append(json.loads(read)["id"])
        else:
            agent.history.clear()

    def forks(self, mine, theirs):
        agent = mine.agent()
        other = copy.copy(agent)
        other.history = agent.history[: self.chance.randrange(len(agent.history) + 1) // 2 * 2]
        mine.agents.append(other)
        self.talks(mine, theirs, other)

    def looks_back(self, mine, theirs):
        """The model asks for the other tenant's pages by handle, and for words that both have said."""
        handles = self.handles(theirs) or ["p1-aaaa"]
        self.provider.looks_for = self.chance.choice(
            [{"query": "secret lily"}, {"handle": self.chance.choice(handles)}, {"query": "lily", "limit": 5}]
        )
        self.talks(mine, theirs)
        self.provider.looks_for = None

    def goes_on_elsewhere(self, mine, theirs):
        """An answer of the other tenant, beside one that nobody has."""
        headers = {"authorization": f"Bearer {mine.key}"}
        told = []
        for id_ in (self.chance.choice(theirs.responses), "resp_nothing"):
            body = {"model": "coder", "input": mine.words(), "previous_response_id": id_}
            answer = self.ask(self.gateway, "POST", RESPONSES, json.dumps(body).encode(), headers)
            told.append((answer.status, answer.read()))
            answer.connection.close()
        assert told[0] == told[1]
        assert told[0][0] == 404

    def reports(self, mine, theirs):
        headers = {"authorization": f"Bearer {mine.key}"}
        told = []
        for id_ in (self.chance.choice(theirs.decisions), "nothing", mine.decisions[-1]):
            body = json.dumps({"decision": id_, "outcome": self.chance.choice(["success", "failure"]), "correct": True})
            answer = self.ask(self.gateway, "POST", "/outcomes", body.encode(), headers)
            told.append((answer.status, answer.read().decode().replace(id_, "ID")))
            answer.connection.close()
        assert told[0] == told[1]
        assert told[0][0] == 404
        assert told[2][0] == (404 if mine.decisions[-1] == "none" else 200)

    def erases(self, mine, _theirs):
        if handles := self.handles(mine):
            with closing(open_store(self.store)) as opened, suppress(PageturnError):
                rows = [row for row in opened.sessions() if row.scope == mine.scope]
                with pt.Session.open(opened, id=self.chance.choice(rows).id, scope=mine.scope) as session:
                    session.erase(self.chance.choice(handles))

    def reads(self, mine, _theirs):
        """Whatever is in a scope is its own, and a search of the scope finds nothing else."""
        with closing(open_store(self.store)) as opened:
            rows = [row for row in opened.sessions() if row.scope == mine.scope]
            for row in self.chance.sample(rows, min(3, len(rows))):
                reader = pt.SessionReader.open(opened, row.id, scope=mine.scope)
                mine.heard.append(str(reader.messages()))
                with suppress(PageturnError), pt.Session.open(opened, id=row.id, scope=mine.scope) as session:
                    mine.heard.append(str(session.recall("secret lily", scope=mine.scope)))

    def opens(self, mine, theirs):
        """A session of the other tenant, which no program that was given this scope can open."""
        with closing(open_store(self.store)) as opened:
            for row in [row for row in opened.sessions() if row.scope == theirs.scope][:3]:
                with pytest.raises(PageturnError):
                    pt.SessionReader.open(opened, row.id, scope=mine.scope)
                with pytest.raises(PageturnError):
                    pt.Session.open(opened, id=row.id, scope=mine.scope)

    def handles(self, tenant):
        with closing(open_store(self.store)) as opened:
            rows = [row for row in opened.sessions() if row.scope == tenant.scope]
            if not rows:
                return []
            return [page.handle for page in pt.SessionReader.open(opened, self.chance.choice(rows).id, scope=tenant.scope).pages()]  # fmt: skip

    def sent(self, mine, agent):
        answer = self.ask(self.gateway, "POST", agent.path, agent.body(), agent.headers)
        read = answer.read()
        mine.heard.append(read.decode() + str(answer.getheaders()))
        answer.connection.close()
        return answer, read


@pytest.mark.long
@pytest.mark.timeout(5_400)
def test_no_byte_crosses(guarded, ask, upstream, give, store, caplog):  # noqa: F811
    chance = random.Random(21)
    upstream.answer = provider = Provider()
    with guarded(ROUTED, mode="recall", room=4_000) as gateway:
        tenants = [Tenant(scope, give(scope)[0], chance) for scope in SCOPES]
        world = World(ask, gateway, store, tenants, provider, chance)
        for _ in range(TIMES):
            world.step()
            upstream.asked.clear()
    assert provider.leaks == []
    for mine, theirs in itertools.permutations(tenants):
        assert not [each for each in mine.heard if f"{theirs.scope}-" in each]
        assert any(f"{mine.scope}-answer" in each for each in mine.heard)
    assert "denied: key" in caplog.text
    tell(f"{TIMES} operations: {dict(world.done)}, {provider.recalls} looks back, {len(provider.leaks)} bytes crossed")
    assert len(world.done) == 8
    assert provider.recalls > 0
