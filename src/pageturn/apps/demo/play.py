"""Plays the generated session: an agent that sends its whole history to the gateway, turn by turn, through a crash and a recall."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pageturn.apps.demo.gateway import ROOM, GatewayProcess
from pageturn.apps.demo.model import RECALL, ScriptedModel, shows_fact
from pageturn.apps.demo.provider import PATH, Provider, Request, listening, tokens_of_tools
from pageturn.apps.demo.table import Played
from pageturn.apps.demo.turns import Event, Turn
from pageturn.formats import openai_chat
from pageturn.lab.demo_session import FACT, PREFERENCE, QUESTION, RULE, demo_session
from pageturn.lab.replay import Shown
from pageturn.lab.stored_traces import stored_traces
from pageturn.lab.traces import estimated_tokens, text_of
from pageturn.stores import open_store
from pageturn.values.errors import InvalidInput
from pageturn.values.messages import Message, Role
from pageturn.values.model_prices import price_of
from pageturn.values.prompt import Prompt

MODEL = "gpt-6-sol"
SESSION = "demo"
_SECONDS = 60  # for an answer
_PARAMETERS = {
    "read_file": ("path",),
    "grep": ("pattern", "path"),
    "edit_file": ("path", "old_string", "new_string"),
    "bash": ("command",),
    "fetch_url": ("url",),
}
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {each: {"type": "string"} for each in parameters}},
        },
    }
    for name, parameters in _PARAMETERS.items()
]


class Play:
    """The session, its provider, and after `turns` what came of it."""

    def __init__(self, store: Path) -> None:
        self.story = demo_session()
        self.provider = Provider(ScriptedModel(self.story))
        self.history: list[Message] = []
        self._store = store
        self._number = 0

    def turns(self) -> Iterator[Turn | Event]:
        """Play it: every turn, and what happens in between."""
        story = self.story
        with listening(self.provider) as upstream, GatewayProcess(self._store, upstream) as gateway:
            for place, message in enumerate(story.trace.messages):
                if message.role is not Role.ASSISTANT:
                    self.history.append(message)
                elif place == story.crash:
                    yield from self._crash(gateway)
                elif place == story.question + 1:
                    yield from self._question(gateway)
                else:
                    yield self._turn(gateway)
                yield from self._told(place)
        last = self.provider.requests[-1].messages
        kept = "word for word" if all(_says(last, text) for text in (RULE, PREFERENCE)) else "NOT"
        yield Event(self._number, f"the rule and the preference are {kept} in the last request")

    @property
    def played(self) -> Played:
        """What the provider was sent, and the session as the agent has it."""
        with closing(open_store(str(self._store))) as store:
            (stored,) = stored_traces(store, "demo")
        own = tokens_of_tools(_TOOLS)
        requests = self.provider.requests
        return Played(
            trace=self.story.trace._replace(messages=tuple(self.history)),
            paged_trace=stored,
            paged=[Shown(request.messages, tools_tokens=request.tools_tokens - own) for request in requests],
            rules=(RULE, PREFERENCE),
            budget_tokens=ROOM,
            price=price_of(MODEL),
            rejected=len(self.provider.rejected),
        )

    # -- what happens

    def _turn(self, gateway: GatewayProcess) -> Turn:
        """Ask for the next answer."""
        everything = tokens_of_tools(_TOOLS) + sum(map(estimated_tokens, self.history))
        asked = openai_chat.dump(Prompt(messages=tuple(self.history), model=MODEL))["messages"]
        body = {"model": MODEL, "tools": _TOOLS, "messages": asked}
        reply, note = _asked(gateway.url, body)
        self.history.append(reply)
        self._number += 1
        return Turn(self._number, self.provider.requests[-1].tokens, everything, "fold=yes" in note)

    def _crash(self, gateway: GatewayProcess) -> Iterator[Turn | Event]:
        """The gateway is killed in the middle of a turn, and started again; the agent asks again, as agents do."""
        self.provider.interrupt = gateway.kill
        try:
            yield self._turn(gateway)
        except ConnectionError:
            gateway.start()
        turn = self._turn(gateway)
        before, after = self.provider.unanswered or b"", self.provider.requests[-1].body
        changed = "not one is different" if before == after else "they are NOT the same"
        told = f"the gateway is killed (kill -9) in the middle of a turn. Started again, it sends {len(after):,} bytes as before: {changed}"
        yield Event(turn.number, told)
        yield turn

    def _question(self, gateway: GatewayProcess) -> Iterator[Turn | Event]:
        """The user asks for something that was read long ago, and is answered by what a recall found."""
        done = len(self.provider.requests)
        turn = self._turn(gateway)
        first, *recalling = self.provider.requests[done:]
        is_shown = shows_fact(first.messages)
        yield Event(turn.number, f'the user asks: "{QUESTION}"')
        yield Event(turn.number, "the request still shows it" if is_shown else _told_recall(first, recalling))
        answer = f'the model answers: "{self.history[-1].text}"'
        read_at = sum(message.role is Role.ASSISTANT for message in self.history[: self.story.page])
        yield Event(turn.number, f"{answer} ({turn.number - read_at} turns after it was read)")
        yield turn

    def _told(self, place: int) -> Iterator[Event]:
        """What just happened, where it is worth telling."""
        if place == self.story.rule:
            yield Event(1, f'a rule comes with the first task: "{RULE}"')
        if place == self.story.page:
            yield Event(self._number, f'a web page is read; in it: "{FACT}"')
        if place == self.story.preference:
            yield Event(self._number, f'the user prefers: "{PREFERENCE}"')


def _told_recall(first: Request, recalling: Sequence[Request]) -> str:
    calls = [f"{call.name} {call.arguments}" for call in first.reply.tool_calls if call.name == RECALL]
    if not calls:
        return "the request does NOT show it, and the model calls no tool"
    found = "finds it" if recalling and shows_fact(recalling[-1].messages) else "finds NOTHING"
    return f"the request no longer shows it: the model calls {', '.join(calls)}, and the gateway {found}"


def _asked(url: str, body: dict[str, Any]) -> tuple[Message, str]:
    """The answer to a request, and the gateway's note about it."""
    place = urlsplit(url)
    connection = HTTPConnection(str(place.hostname), place.port, timeout=_SECONDS)
    try:
        connection.request(
            "POST", PATH, json.dumps(body).encode(), {"content-type": "application/json", "x-pageturn-session": SESSION}
        )
        response = connection.getresponse()
        answer = response.read()
    finally:
        connection.close()
    if response.status != 200:
        raise InvalidInput("demo", expected="an answer of the gateway", got=f"{response.status}: {answer.decode()}")
    return openai_chat.load_reply(json.loads(answer)), response.getheader("x-pageturn") or ""


def _says(messages: Sequence[Message], text: str) -> bool:
    return any(text in text_of(message) for message in messages)
