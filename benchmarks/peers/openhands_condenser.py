"""OpenHands: `LLMSummarizingCondenser` with the sizes of its default agent, 80 events and the first 4 kept, and the budget as its tokens.

Calls that were made at once are events of one response; the log of events is kept, and what a condensation forgets stays forgotten.
"""

import os
from collections.abc import Sequence
from itertools import groupby
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would be fetched from the network when it is imported

from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.sdk.context.condenser.base import NoCondensationAvailableException
from openhands.sdk.context.view import View
from openhands.sdk.event import ActionEvent, Condensation, MessageEvent, ObservationEvent, SystemPromptEvent
from openhands.sdk.llm import ImageContent, MessageToolCall, TextContent
from openhands.sdk.llm import Message as Theirs
from openhands.sdk.llm.llm_response import LLMResponse
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool import Observation
from relay import Given, Message, given, message_of, parts, refuse, result_text, said, send, summary, text_part

MAX_SIZE, KEEP_FIRST = 80, 4


def words(message: Theirs) -> str:
    told = [content.text for content in message.content if isinstance(content, TextContent)]
    for call in message.tool_calls or ():
        told += [call.name, call.arguments]
    return "\n".join(told)


class StandIn(TestLLM):
    """Counts a quarter of the characters, and writes the summaries."""

    def get_token_count(self, messages: Sequence[Theirs], *_: Any, **__: Any) -> int:
        return sum(len(words(message)) // 4 for message in messages)

    def completion(self, messages: list[Theirs], *_: Any, **__: Any) -> LLMResponse:
        told = Theirs(role="assistant", content=[TextContent(text=summary("\n".join(map(words, messages))))])
        self._scripted_responses.append(told)
        return super().completion(messages)


class Told(Observation):
    """What a tool brought."""


def theirs(session: Given, place: int) -> list[Any]:
    """The events of a message; their ids begin with its place."""
    message = session.messages[place]
    text = [TextContent(text=said(message))]
    match message["role"]:
        case "system" | "developer":
            return [SystemPromptEvent(id=f"{place}", system_prompt=text[0], tools=[])]
        case "tool":
            (result,) = parts(message, "tool_result")
            call = result["tool_call_id"]
            action, name = action_of(session, call, place)
            return [
                ObservationEvent(
                    id=f"{place}",
                    observation=Told.from_text(result_text(result)),
                    action_id=action,
                    tool_name=name,
                    tool_call_id=call,
                )
            ]
        case "assistant" if calls := parts(message, "tool_call"):
            return [
                ActionEvent(
                    id=f"{place}:{number}",
                    thought=text if number == 0 else [],
                    action=None,
                    tool_name=call["name"],
                    tool_call_id=call["id"],
                    tool_call=MessageToolCall(
                        id=call["id"], name=call["name"], arguments=call["arguments"], origin="completion"
                    ),
                    llm_response_id=f"response {place}",
                )
                for number, call in enumerate(calls)
            ]
        case role:
            images = [ImageContent(image_urls=[part["url"]]) for part in parts(message, "image")]
            source = "agent" if role == "assistant" else "user"
            return [MessageEvent(id=f"{place}", source=source, llm_message=Theirs(role=role, content=[*text, *images]))]


def action_of(session: Given, call: str, before: int) -> tuple[str, str]:
    """The event that a result answers, and the tool."""
    for place in range(before - 1, -1, -1):
        for number, made in enumerate(parts(session.messages[place], "tool_call")):
            if made["id"] == call:
                return f"{place}:{number}", made["name"]
    return "nobody", "tool"


def ours(session: Given, events: Sequence[Any]) -> list[int | Message]:
    told: list[int | Message] = []
    for key, group in groupby(events, lambda event: event.id.split(":")[0]):
        members = list(group)
        if not key.isdecimal():
            told += [message_of("user", text_part(event.summary)) for event in members]
            continue
        message = session.messages[int(key)]
        calls = parts(message, "tool_call")
        kept = {event.tool_call_id for event in members if isinstance(event, ActionEvent)}
        if len(kept) == len(calls):
            told.append(int(key))
        else:
            told.append(message_of("assistant", *(call for call in calls if call["id"] in kept)))
    return told


def main(session: Given) -> None:
    stand_in = StandIn.from_messages([])
    condenser = LLMSummarizingCondenser(
        llm=stand_in, max_size=MAX_SIZE, keep_first=KEEP_FIRST, max_tokens=session.budget_tokens
    )
    log: list[Any] = []
    for fresh in session.fresh():
        log += [event for place in fresh for event in theirs(session, place)]
        try:
            answer = condenser.condense(View.from_events(log), agent_llm=stand_in)
        except NoCondensationAvailableException as error:
            refuse(str(error))
            continue
        if isinstance(answer, Condensation):
            log.append(answer)
            answer = View.from_events(log)
        send(ours(session, answer.events))


if __name__ == "__main__":
    main(given())
