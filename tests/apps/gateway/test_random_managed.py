"""Random clients in manage mode: what goes upstream once a history is derived is what a strict provider takes."""

import asyncio
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
from pageturn.apps.gateway.recalling import Recalling
from tests.apps.gateway.agent import ITEMS, MODELS, STRICT, large
from tests.apps.gateway.test_random_clients import FORMATS, World
from tests.apps.gateway.unsure import UNSURE
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

    def __init__(self, seed, mode=None):
        self.mode = mode or Manage(":memory:", "manage", 4_000)
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
        self.mode._shortened.forget()

    def record(self, client, body, chunks, ending):
        return self.finish(*self.begin(client, body), chunks, ending)

    def begin(self, client, body):
        body = {**body, "model": MODELS[client.path]}
        format_ = FORMATS[client.path]
        headers = lowered((k.encode(), v.encode()) for k, v in client.headers.items())
        exchange = Exchange(Endpoint("x", client.path, is_known=True, format=format_), "POST", "", headers, json.dumps(body).encode())  # fmt: skip
        plan = self.planned(exchange)
        if isinstance(plan, Refuse) or plan.note.startswith("passed"):
            self.unsure[plan.note] += 1
        if isinstance(plan, Send):
            self.derived += 1
            sent = json.loads(plan.body)
            assert self.beside(client, sent) == self.beside(client, body)
            if plan.note.startswith("managed"):  # or else it is what the client wrote, with the tool
                self.note_problems(client, sent)
        return exchange, headers

    def planned(self, exchange):
        return self.mode._planned(exchange)

    def note_problems(self, client, sent):
        found = STRICT[client.path].problems(sent, model=MODELS[client.path])
        self.problems.update(str(each) for each in found if each.code not in OF_THE_CLIENT)

    def beside(self, client, body):
        """What is not the history, nor says where it is."""
        return {name: each for name, each in body.items() if name not in (ITEMS[client.path], "previous_response_id")}

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


class RecallingWorld(ManagedWorld):
    """The same clients, with a mode whose model recalls in rounds that they do not see."""

    def __init__(self, seed):
        super().__init__(seed, Recalling(":memory:", "recall", 4_000))
        self.rounds = 0

    def restart(self):
        super().restart()
        self.mode._answers.clear()

    def beside(self, client, body):
        return {name: each for name, each in super().beside(client, body).items() if name != "tools"}

    def begin(self, client, body):
        begun = super().begin(client, body)
        return *begun, client

    def planned(self, exchange):
        return asyncio.run(self.mode.before(exchange))

    def finish(self, exchange, headers, client, chunks, ending):
        """An answer, often after a round in which the model only recalls."""
        managed = self.mode._managed.get(exchange)
        before = self.mode.tally()
        if ending is Ending.WHOLE and managed is not None and managed.tool is not None and self.rng.random() < 0.4:
            self.rounds += 1
            call = recalling(client, f"recall_{self.rounds}", managed.tool.name)
            call["id"] = json.loads(chunks[0]).get("id")  # the client sees that of the first round
            again = self.answered(exchange, (json.dumps(call).encode(),))
            assert isinstance(again, Send)
            self.note_problems(client, json.loads(again.body))
        shown = self.answered(exchange, chunks)
        assert b"recall_" not in (shown or b"")
        exchange.end(ending)
        asyncio.run(self.mode.after(exchange))
        self.mode._thread.submit(lambda: None).result()
        self.journaling.repeated = self.mode.tally().turns == before.turns
        return managed.ticket.session if managed is not None and not self.journaling.repeated else None

    def answered(self, exchange, chunks):
        """What follows an answer: another request, or the last of what the client sees."""
        exchange.begin_answer(200, JSON)
        for chunk in chunks:
            exchange.take(chunk)
            self.mode.on_chunk(exchange, chunk)
        return asyncio.run(self.mode.proceed(exchange))

    def units(self, message):
        return (unit for unit in super().units(message) if not str(unit[1]).startswith("recall_"))


def recalling(client, id_, tool):
    """A response that only calls the recall tool."""
    made = client.reply("", [(id_, "")], None)
    text = json.dumps(made).replace('"read"', json.dumps(tool))
    return json.loads(
        text.replace('"path": ""', '"query": "file"').replace('\\"path\\": \\"\\"', '\\"query\\": \\"file\\"')
    )


WORLDS = (ManagedWorld, RecallingWorld)
SEEDS = range(examples(24, whole=5_000))


@pytest.mark.parametrize("world_of", WORLDS)
@pytest.mark.parametrize("block", range(4))
def test_derived_requests_are_strict_and_sessions_say_what_was_meant(block, world_of, record_property):
    requests, derived, unsure, problems = 0, 0, Counter(), Counter()
    for seed in SEEDS[block::4]:
        world = world_of(seed)
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
    record_property(UNSURE, {"requests": requests, **unsure})
    assert problems == Counter()
    assert derived > 0
    assert sum(unsure.values()) <= 0.01 * requests, unsure
