"""A gateway that is killed under load, again and again: whatever a client was answered is in the store at the end, and nobody hangs."""

import http.client
import itertools
import json
import random
import re
import threading
import time
from contextlib import closing

import pytest

import pageturn as pt
from pageturn.stores import open_store
from tests.apps.gateway.agent import ANTHROPIC, CHAT, RESPONSES, Agent
from tests.apps.gateway.answers import reply
from tests.apps.gateway.process import GatewayProcess
from tests.apps.gateway.upstream import WAIT
from tests.long import examples, tell

KILLS = examples(1, whole=25)  # of each of two gateways
CLIENTS = examples(8, whole=64)
SECONDS = 0.5  # between two kills, at most
ASKED = re.compile(r"client \d+ turn \d+ asks")
PATHS = (CHAT, ANTHROPIC, RESPONSES)


class Person:
    """A client with one conversation that goes on after every failure, as agents do, and that remembers what it was answered."""

    def __init__(self, number, gateway):
        self.number, self.gateway = number, gateway
        self.said, self.failures, self.longest = [], 0, 0.0
        headers = {"x-pageturn-session": f"client-{number}", "authorization": "Bearer sk-client"}
        self.agent = Agent(PATHS[number % len(PATHS)], headers)

    def works(self, is_over):
        while not is_over.is_set():
            self.turn()
            time.sleep(0.02)
        for _ in range(
            2
        ):  # which nobody disturbs: what was answered just before a kill is written with the next request
            self.turn()

    def turn(self):
        text = f"client {self.number} turn {len(self.said) // 2} asks"
        self.agent.says(text)
        while (answer := self.asked()) is None:
            self.failures += 1
            time.sleep(0.02)
        self.agent.take(json.loads(answer))
        self.said += [text, f"heard {text}"]

    def asked(self):
        begun = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=WAIT)
        try:
            connection.request("POST", self.agent.path, self.agent.body(), self.agent.headers)
            answer = connection.getresponse()
            read = answer.read()
        except TimeoutError:
            raise AssertionError(f"client {self.number} hung for {WAIT:g} seconds") from None
        except (OSError, http.client.HTTPException):
            return None
        else:
            return read if answer.status == 200 else None
        finally:
            connection.close()
            self.longest = max(self.longest, time.monotonic() - begun)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("mode", ["watch", "manage"])
def test_whatever_was_answered_is_there_after_kills_and_every_session_goes_on(upstream, store, mode):
    def answer(asked):
        told = json.loads(asked.body)
        last = json.dumps((told.get("input") or told["messages"])[-1])
        return reply(asked, f"heard {ASKED.search(last)[0]}", id_=f"r{next(numbers)}")

    numbers = itertools.count()
    upstream.answer = answer
    is_over = threading.Event()
    failures = []

    def watched(person):
        try:
            person.works(is_over)
        except BaseException as error:  # noqa: BLE001 - told by the test
            failures.append(error)

    chance = random.Random(5)
    with GatewayProcess(store, upstream.url, "--mode", mode) as gateway:
        people = [Person(number, gateway) for number in range(CLIENTS)]
        threads = [threading.Thread(target=watched, args=(person,)) for person in people]
        for thread in threads:
            thread.start()
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.1, SECONDS))
            gateway.kill()
            gateway.start()
        is_over.set()
        for thread in threads:
            thread.join()
        gateway.stop()
    assert failures == []
    assert max(person.longest for person in people) < WAIT
    turns = sum(len(person.said) // 2 for person in people)
    interrupted = sum(person.failures for person in people)
    tell(f"{turns} turns of {CLIENTS} clients, {KILLS} kills, {interrupted} requests repeated")
    assert interrupted > 0  # or else nothing was tried
    with closing(open_store(str(store))) as opened:
        sessions = [pt.SessionReader.open(opened, row.id) for row in opened.sessions()]
        texts = [[message.text for message in session.messages()] for session in sessions]
    for person in people:
        assert any(is_within(person.said, each) for each in texts), person.said


def is_within(said, texts):
    """Whether these texts stand in this order."""
    rest = iter(texts)
    return all(any(text in each for each in rest) for text in said)
