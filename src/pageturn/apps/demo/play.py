"""Plays the generated session through the gateway, turn by turn, with a crash and a question about something long past."""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from pageturn.apps.demo.agent import MODEL, TOOLS_TOKENS, Agent
from pageturn.apps.demo.gateway import ROOM, GatewayProcess
from pageturn.apps.demo.model import RECALL, ScriptedModel, shows_fact
from pageturn.apps.demo.provider import Provider, Request, listening
from pageturn.apps.demo.table import Played
from pageturn.apps.demo.turns import Event, Turn
from pageturn.formats import openai_chat
from pageturn.lab.demo_session import ANSWER, FACT, PREFERENCE, QUESTION, RULE, demo_session
from pageturn.lab.replay import Shown
from pageturn.lab.stored_traces import stored_traces
from pageturn.lab.traces import text_of
from pageturn.stores import open_store
from pageturn.values.messages import Message, Role
from pageturn.values.model_prices import price_of
from pageturn.values.prompt import Prompt


class Play:
    """The session, its agent and its provider; after `turns`, what came of it."""

    def __init__(self, store: Path) -> None:
        self.story = demo_session()
        self.provider = Provider(ScriptedModel(self.story))
        self._agent = Agent()
        self._store = store
        self._number = 0  # of the last turn

    def turns(self) -> Iterator[Turn | Event]:
        """Play it: every turn, and what happens in between."""
        story = self.story
        messages = story.trace.messages
        written = openai_chat.dump(Prompt(messages=messages, model=MODEL))["messages"]
        with listening(self.provider) as upstream, GatewayProcess(self._store, upstream) as gateway:
            for place, (message, form) in enumerate(zip(messages, written, strict=True)):
                if message.role is not Role.ASSISTANT:
                    self._agent.hear(message, form)
                elif place == story.crash:
                    yield from self._crash(gateway)
                elif place == story.question + 1:
                    yield from self._question(gateway)
                else:
                    yield self._turn(gateway)
                yield from self._told(place)
        last = self.provider.requests[-1].messages
        is_kept = all(_says(last, text) for text in (RULE, PREFERENCE))
        where = "word for word" if is_kept else "NOT"
        yield Event(self._number, f"the rule and the preference are {where} in the last request", is_kept)

    @property
    def played(self) -> Played:
        """What the provider was sent, and the session as the agent has it."""
        with closing(open_store(str(self._store))) as store:
            (stored,) = stored_traces(store, "demo")
        return Played(
            trace=self.story.trace._replace(messages=tuple(self._agent.history)),
            paged_trace=stored,
            paged=[
                Shown(each.messages, tools_tokens=each.tools_tokens - TOOLS_TOKENS) for each in self.provider.requests
            ],
            rules=(RULE, PREFERENCE),
            budget_tokens=ROOM,
            price=price_of(MODEL),
            rejected=len(self.provider.rejected),
        )

    # -- what happens

    def _turn(self, gateway: GatewayProcess) -> Turn:
        """Ask for the next answer."""
        everything = self._agent.tokens
        note = self._agent.ask(gateway.url)
        self._number += 1
        return Turn(self._number, self.provider.requests[-1].tokens, everything, "fold=yes" in note)

    def _crash(self, gateway: GatewayProcess) -> Iterator[Turn | Event]:
        """The gateway is killed in the middle of a turn, and started again; the agent asks again, as agents do."""
        self.provider.interrupt = gateway.kill
        with suppress(ConnectionError):
            self._turn(gateway)
        gateway.start()
        turn = self._turn(gateway)
        body = self.provider.requests[-1].body
        is_same = body == self.provider.unanswered
        sent = f"the same {len(body):,} bytes" if is_same else "NOT the same bytes"
        told = f"the gateway is killed (kill -9) in the middle of a turn; started again on its store, it sends {sent}"
        yield Event(turn.number, told, is_same)
        yield turn

    def _question(self, gateway: GatewayProcess) -> Iterator[Turn | Event]:
        """The user asks for something that was read long ago, and is answered by what a recall found."""
        done = len(self.provider.requests)
        turn = self._turn(gateway)
        first, *recalling = self.provider.requests[done:]
        history = self._agent.history
        read_at = sum(message.role is Role.ASSISTANT for message in history[: self.story.page])
        yield Event(turn.number, f'the user asks: "{QUESTION}"')
        yield _recalled(turn.number, first, recalling)
        answer = history[-1].text
        told = f'the model answers, {turn.number - read_at} turns after it was read: "{answer}"'
        yield Event(turn.number, told, answer == ANSWER)
        yield turn

    def _told(self, place: int) -> Iterator[Event]:
        """What just happened, if it is worth a line."""
        if place == self.story.rule:
            yield Event(1, f'a rule comes with the first task: "{RULE}"')
        if place == self.story.page:
            yield Event(self._number, f'a web page is read; in it: "{FACT}"')
        if place == self.story.preference:
            yield Event(self._number, f'the user prefers: "{PREFERENCE}"')


def _recalled(turn: int, first: Request, recalling: Sequence[Request]) -> Event:
    """How the model came to its answer."""
    if shows_fact(first.messages):
        return Event(turn, "the request still shows it")
    calls = [f"{call.name} {call.arguments}" for call in first.reply.tool_calls if call.name == RECALL]
    if not calls:
        return Event(turn, "the request does NOT show it, and there is no tool to recall it", is_kept=False)
    is_found = bool(recalling) and shows_fact(recalling[-1].messages)
    told = f"the request no longer shows it: the model calls {', '.join(calls)}, and the gateway finds"
    return Event(turn, f"{told} {'it' if is_found else 'NOTHING'}", is_found)


def _says(messages: Sequence[Message], text: str) -> bool:
    return any(text in text_of(message) for message in messages)
