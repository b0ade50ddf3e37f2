"""Random clients in manage mode: what goes upstream once a history is derived is what a strict provider takes."""

import json
from collections import Counter

import pytest

from pageturn.apps.gateway.endpoints import Endpoint
from pageturn.apps.gateway.exchange import Ending, Exchange
from pageturn.apps.gateway.headers import lowered
from pageturn.apps.gateway.identity import identity_of
from pageturn.apps.gateway.items import ItemReader
from pageturn.apps.gateway.manage import Manage
from pageturn.apps.gateway.modes import Refuse, Send
from pageturn.apps.gateway.reading import Seen
from tests.apps.gateway.agent import ITEMS, MODELS, STRICT, large
from tests.apps.gateway.test_random_clients import FORMATS, World
from tests.long import examples

# What a strict provider finds in what the client itself wrote, and not in what became of it.
OF_THE_CLIENT = {"tools_empty"}
JSON = ((b"content-type", b"application/json"),)


class Kept:
    """As `World` asks for what was written."""

    def __init__(self, mode):
        self._sessions = mode._sessions
        self.repeated = False


class ManagedWorld(World):
    """The same clients, with a mode that derives."""

    def __init__(self, seed):
        self.mode = Manage(":memory:", "manage", 4_000)
        super().__init__(seed, Kept(self.mode))
        for client in self.clients:
            client.model = MODELS[client.path]
        self.derived = 0
        self.problems = Counter()

    def result(self, path):
        return large(self.rng.randint(0, 10**6), 1_200)

    def overlap(self, client, body, answers):
        """Both requests are planned before either answer comes, and the second is answered first."""
        self.requests += 2
        begun = [self.begin(client, body) for _ in answers]
        ended = [self.finish(*each, (json.dumps(answer).encode(),), Ending.WHOLE) for each, answer in zip(begun[::-1], answers[::-1], strict=True)]  # fmt: skip
        return ended[::-1]

    def restart(self):
        self.mode._sessions.forget()
        self.mode._reader = ItemReader()
        self.mode._derived_here.clear()
        self.mode._derived_links.clear()

    def record(self, client, body, chunks, ending):
        return self.finish(*self.begin(client, body), chunks, ending)

    def begin(self, client, body):
        body = {**body, "model": MODELS[client.path]}
        format_ = FORMATS[client.path]
        headers = lowered((k.encode(), v.encode()) for k, v in client.headers.items())
        exchange = Exchange(Endpoint("x", client.path, is_known=True, format=format_), "POST", "", headers, json.dumps(body).encode())  # fmt: skip
        plan = self.mode._planned(exchange)
        if isinstance(plan, Refuse) or plan.note.startswith("passed"):
            self.unsure[plan.note] += 1
        if isinstance(plan, Send):
            self.derived += 1
            sent = json.loads(plan.body)
            assert {n: v for n, v in sent.items() if n != ITEMS[client.path]} == {n: v for n, v in body.items() if n != ITEMS[client.path]}  # fmt: skip
            found = STRICT[client.path].problems(sent, model=MODELS[client.path])
            self.problems.update(str(each) for each in found if each.code not in OF_THE_CLIENT)
        return exchange, headers

    def finish(self, exchange, headers, chunks, ending):
        exchange.begin_answer(200, JSON)
        for chunk in chunks:
            exchange.take(chunk)
        exchange.end(ending)
        managed = self.mode._managed.pop(exchange, None)
        before = self.mode.tally()
        self.mode._recorded(Seen.of(exchange, identity_of(headers)), managed)
        self.journaling.repeated = self.mode.tally().turns == before.turns
        return managed.ticket.session if managed is not None and not self.journaling.repeated else None

    def check(self, client, session, meant):
        """A reply may be in a fork of the session that its request was written to."""
        rows = [row.id for row in self.mode._sessions.store.sessions()]
        for each in [session, *rows[::-1]]:
            try:
                super().check(client, each, meant)
            except AssertionError:
                continue
            return
        super().check(client, session, meant)


SEEDS = range(examples(24, whole=1_000))


@pytest.mark.parametrize("block", range(4))
def test_derived_requests_are_strict_and_sessions_say_what_was_meant(block):
    requests, derived, unsure, problems = 0, 0, Counter(), Counter()
    for seed in SEEDS[block::4]:
        world = ManagedWorld(seed)
        try:
            world.play()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {[*world.moves]}: {error}") from error
        finally:
            world.mode.close()
        requests += world.requests
        derived += world.derived
        unsure += world.unsure
        problems += world.problems
    assert problems == Counter()
    assert derived > 0
    assert sum(unsure.values()) <= 0.01 * requests, unsure
