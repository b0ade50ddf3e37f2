"""Random clients against what they meant: nothing lost, nothing twice, nothing mixed."""

import json
import random
from collections import Counter

import pytest

from pageturn.apps.gateway.exchange import Ending
from pageturn.apps.gateway.headers import lowered
from pageturn.apps.gateway.identity import identity_of
from pageturn.apps.gateway.items import ItemReader
from pageturn.apps.gateway.journaling import Journaling
from pageturn.apps.gateway.reading import Seen
from pageturn.formats import anthropic, openai_chat, openai_responses
from pageturn.journal.reader import SessionReader
from pageturn.values.errors import PageturnError
from pageturn.values.messages import Image, Native, Role, Text, Thinking, ToolCall, ToolResult
from tests.apps.gateway.answers import ANTHROPIC, CHAT, RESPONSES
from tests.apps.gateway.random_client import Client
from tests.apps.gateway.unsure import UNSURE
from tests.long import examples

FORMATS = {ANTHROPIC: anthropic, CHAT: openai_chat, RESPONSES: openai_responses}
HEADERS = (
    lambda number: {},
    lambda number: {"x-claude-code-session-id": f"s{number % 2}"},
    lambda number: {"x-claude-code-session-id": "s", **({"x-claude-code-agent-id": f"a{number}"} if number else {})},
    lambda number: {"thread-id": f"t{number}"},
    lambda number: {"x-session-id": f"o{number}"},
    lambda number: {"x-pageturn-session": f"mine {number}"},
)
ROUNDS = 14


class World:
    """Clients of one store, and the upstream that answers them."""

    def __init__(self, seed: int, journaling: Journaling) -> None:
        self.rng = random.Random(seed)
        self.journaling = journaling
        path = self.rng.choice([*FORMATS])
        headers = self.rng.choice(HEADERS)
        self.clients = [Client(self.rng, path, headers(number), number) for number in range(self.rng.randint(1, 3))]
        for client in self.clients:
            client.follows = path == RESPONSES and self.rng.random() < 0.3
        self.requests = 0
        self.unsure: Counter[str] = Counter()
        self.moves: Counter[str] = Counter()
        self.last: dict[int, tuple[bytes, dict]] = {}

    def play(self) -> None:
        for client in self.clients:
            client.ask(self.rng.choice(["Hello.", "Fix the bug.", f"Task {self.rng.randint(0, 3)}."]))
            self.send(client)
        for _ in range(ROUNDS):
            client = self.rng.choice(self.clients)
            move = self.rng.choice(MOVES)
            self.moves[move.__name__] += 1
            move(self, client)

    def result(self, path: str) -> str:
        return f"{path}: {self.rng.random()}"

    # -- the wire

    def send(self, client: Client, *, keeps: bool = True, answers: bool = True, body: dict | None = None) -> None:
        """A request and its answer; afterwards the session must say what the client meant."""
        self.requests += 1
        given = body or client.body()
        text, calls = self.rng.choice([("Done.", 0), (f"Said {self.rng.random()}", 0), ("Looking.", 1), ("", 2)])
        client.calls += 1
        made = [(f"call_{client.number}_{client.calls}_{at}_{self.rng.randint(10**7, 10**8)}", f"f{at}.py") for at in range(calls)]  # fmt: skip
        response = client.reply(text, made, f"t{self.rng.random()}" if self.rng.random() < 0.5 else None)
        chunks = (json.dumps(response).encode(),) if answers else (b'{"half',)
        session = self.record(client, given, chunks, Ending.WHOLE if answers else Ending.CUT)
        self.last[id(client)] = (json.dumps(given).encode(), response)
        if keeps and answers:
            client.keep(response)
            meant = client.history
        else:
            meant = client.history + _reply_items(client, response) if answers else client.history
        if session is not None:
            self.check(client, session, meant)
        if keeps and answers and made:
            client.bring_results(made, [self.result(path) for _, path in made])
        elif keeps and answers:
            client.ask(f"Next {self.rng.random()}")

    def record(self, client: Client, body: dict, chunks: tuple[bytes, ...], ending: Ending) -> str | None:
        path = client.path
        seen = Seen(
            format=FORMATS[path],
            name=path,
            identity=identity_of(lowered((k.encode(), v.encode()) for k, v in client.headers.items())),
            body=json.dumps(body).encode(),
            encoding=None,
            status=200,
            chunks=chunks,
            answer_encoding=None,
            ending=ending,
        )
        try:
            return self.journaling.record(seen).session
        except PageturnError as error:
            self.unsure[type(error).__name__] += 1
            return None

    def overlap(self, client: Client, body: dict, answers: list[dict]) -> list[str | None]:
        """The sessions of the same request sent twice; watching writes down what is over, so that one comes after the other."""
        self.requests += 2
        return [self.record(client, body, (json.dumps(each).encode(),), Ending.WHOLE) for each in answers]

    def restart(self) -> None:
        """Forget everything that is not in the store."""
        self.journaling._sessions.forget()
        self.journaling._reader = ItemReader()

    def check(self, client: Client, session: str, meant: list[dict]) -> None:
        reader = SessionReader.open(self.journaling._sessions.store, session)
        have = [
            unit for message in reader.messages(internal=True) if not _opens(message) for unit in self.units(message)
        ]
        want = [unit for message in FORMATS[client.path].load_messages(meant) for unit in _units(message)]
        assert _sorted(have)[: len(want)] == _sorted(want)
        # Only what was asked twice may have gone on since.
        assert len(have) == len(want) or self.journaling.repeated

    def units(self, message):
        return _units(message)


def _reply_items(client: Client, response: dict) -> list[dict]:
    other = Client(client.rng, client.path, {}, 0)
    other.keep(response)
    return other.history


def _opens(message) -> bool:
    return message.role is Role.SYSTEM


def _units(message):
    """What a message says, one by one; a harness's reminders and reasoning apart."""
    role = (
        "system" if (message.metadata or {}).get("role") or message.role in (Role.SYSTEM, Role.DEVELOPER) else "other"
    )
    for part in message.content:
        match part:
            case Text(text=text) if text.strip() and not text.startswith("<system-reminder>"):
                if not message.tool_calls:
                    yield (role if message.role is not Role.ASSISTANT else "assistant", text)
            case ToolCall(id=id_):
                yield ("call", id_)
            case ToolResult(tool_call_id=id_):
                yield ("result", id_, part.parts[0].text if part.parts else "")
            case Image(url=url):
                yield ("image", url)
            case Native():
                yield ("native", str(part.item))
            case Thinking():
                pass


def _sorted(units):
    """Neighbouring results in one order."""
    done, run = [], []
    for unit in [*units, ("end",)]:
        if unit[0] == "result":
            run.append(unit)
            continue
        done += sorted(run)
        run = []
        done.append(unit)
    return done[:-1]


# -- moves


def go_on(world, client):
    world.send(client)


def retry(world, client):
    """The same body again, as after a cut or an error."""
    body = client.body()
    world.send(client, answers=False, body=body)
    world.send(client, body=body)


def regenerate(world, client):
    body = client.body()
    world.send(client, keeps=False, body=body)
    world.send(client, body=client.body())


def edit(world, client):
    """Change what was said at some place, and go on from there."""
    asked = [at for at, item in enumerate(client.history) if item.get("role") == "user" and _is_words(item)]
    at = world.rng.choice(asked)
    del client.history[at:]
    client.ask(f"Rather {world.rng.random()}")
    world.send(client)


def rewind(world, client):
    """Back to what was asked before, and ask that again."""
    asked = [at for at, item in enumerate(client.history) if item.get("role") == "user" and _is_words(item)]
    del client.history[world.rng.choice(asked) + 1 :]
    world.send(client)


def branch(world, client):
    """Continue in two windows at once."""
    if len(world.clients) < 4:
        world.clients.append(client.twin())
    world.send(world.clients[-1])
    world.send(client)


def cut(world, client):
    """The reply broke off; the client keeps half of it and says so."""
    world.send(client, answers=False)
    half = {"role": "assistant", "content": f"Half {world.rng.random()}"}
    client.history.append({"type": "message", **half} if client.path == RESPONSES else half)
    client.ask("Your response above was cut off mid-stream.")
    world.send(client)


def compact(world, client):
    """Go on with a summary, and the newest exchange."""
    asked = [at for at, item in enumerate(client.history) if item.get("role") == "user" and _is_words(item)]
    tail = client.history[asked[-1] :]
    client.history = []
    client.ask("This session is being continued from a previous conversation that ran out of context. Summary: " + str(world.rng.random()))  # fmt: skip
    half = {"role": "assistant", "content": "I see."}
    client.history.append({"type": "message", **half} if client.path == RESPONSES else half)
    client.history += tail
    world.send(client)


def elsewhere(world, client):
    """Another machine went on with the conversation."""
    half = {"role": "assistant", "content": f"Elsewhere {world.rng.random()}"}
    client.history.append({"type": "message", **half} if client.path == RESPONSES else half)
    client.ask(f"And there {world.rng.random()}")
    world.send(client)


def in_the_middle(world, client):
    client.say_in_the_middle(f"{world.rng.randint(0, 9999)} tokens left")
    world.send(client)


def malformed(world, client):
    """A result that answers nothing, and one that comes twice."""
    client.bring_results([("call_nobody_made", "x")], ["orphan"])
    client.ask("Go on.")
    world.send(client)


def at_once(world, client):
    """The same body twice, the second before the first is answered; the second answer is the one that is kept."""
    body = client.body()
    answers = [client.reply(f"Said {world.rng.random()}", [], None) for _ in range(2)]
    for session, response in zip(world.overlap(client, body, answers), answers, strict=True):
        if session is not None:
            world.check(client, session, client.history + _reply_items(client, response))
    client.keep(answers[1])
    client.ask(f"Next {world.rng.random()}")
    world.send(client)


def picture(world, client):
    client.show(f"p{world.rng.random()}")
    world.send(client)


def twice(world, client):
    """Two results with one id."""
    client.bring_results([("call_twice_0001", "x")] * 2, ["one", f"other {world.rng.random()}"])
    client.ask("Go on.")
    world.send(client)


def subagent(world, client):
    """A subagent of Codex, which works while its parent does."""
    if "thread-id" in client.headers and len(world.clients) < 4:
        world.clients.append(client.subagent(100 + world.requests))
        world.clients[-1].ask(f"Subtask {world.rng.random()}")
        world.send(world.clients[-1])
    world.send(client)


def resumed(world, client):
    """Another process goes on, and leaves out the reminders of the first message."""
    world.restart()
    world.send(client)


def title(world, client):
    """A call beside the conversation, with its ids."""
    body = {**client.body(), "tools": []}
    world.record(client, body, (json.dumps(client.reply("A title", [], None)).encode(),), Ending.WHOLE)
    world.send(client)


MOVES = (go_on, go_on, go_on, retry, regenerate, edit, rewind, branch, cut, compact, elsewhere, in_the_middle, malformed, title, at_once, picture, twice, subagent, resumed)  # fmt: skip


def _is_words(item):
    content = item.get("content")
    return isinstance(content, str) or (
        isinstance(content, list) and content and content[0]["type"] in ("text", "input_text")
    )


class Watched(Journaling):
    """Says whether the last request was known with its reply."""

    repeated = False

    def record(self, seen):
        recorded = super().record(seen)
        self.repeated = recorded.has_reply and not recorded.is_turn
        return recorded


SEEDS = range(examples(40, whole=5_000))


@pytest.mark.parametrize("block", range(8))
def test_a_session_says_what_its_client_meant(block, record_property):
    requests, unsure, moves = 0, Counter(), Counter()
    for seed in SEEDS[block::8]:
        journaling = Watched(":memory:")
        world = World(seed, journaling)
        try:
            world.play()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {[*world.moves]}: {error}") from error
        finally:
            journaling.close()
        requests += world.requests
        unsure += world.unsure
        moves += world.moves
    record_property(UNSURE, {"requests": requests, **unsure})
    assert sum(unsure.values()) <= 0.01 * requests, unsure
    assert len(moves) > 5
