"""LangChain: `trim_messages`, `SummarizationMiddleware` and `ClearToolUsesEdit`, at their defaults but for the budget."""

import json
from copy import deepcopy
from typing import Any

from langchain.agents.middleware import ClearToolUsesEdit, SummarizationMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from relay import (
    Given,
    Message,
    arguments_of,
    given,
    message_of,
    parts,
    result_text,
    said,
    send,
    strategy,
    summary,
    text_part,
    tokens,
)


class StandIn(BaseChatModel):
    """The model that writes summaries."""

    @property
    def _llm_type(self) -> str:
        return "stand-in"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        told = summary("\n".join(str(message.content) for message in messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(told))])


class Translated:
    """The session in LangChain's messages. One that was not changed is known by its id and its content."""

    def __init__(self, session: Given) -> None:
        self._session = session
        self.messages = [theirs(message, str(place)) for place, message in enumerate(session.messages)]
        self._sizes = list(map(tokens, session.messages))

    def count(self, messages: list[BaseMessage]) -> int:
        return sum(self._sizes[told] if isinstance(told, int) else tokens(told) for told in map(self.ours, messages))

    def ours(self, message: BaseMessage) -> int | Message:
        place = int(message.id) if (message.id or "").isdecimal() else -1
        if place >= 0 and message.content == self.messages[place].content:
            return place
        match message:
            case ToolMessage():
                result = {"type": "tool_result", "tool_call_id": message.tool_call_id, "content": str(message.content)}
                return message_of("tool", result)
            case AIMessage():
                calls = [
                    {"type": "tool_call", "id": call["id"], "name": call["name"], "arguments": json.dumps(call["args"])}
                    for call in message.tool_calls
                ]
                return message_of("assistant", text_part(str(message.content)), *calls)
            case SystemMessage():
                return message_of("system", text_part(str(message.content)))
            case _:
                return message_of("user", text_part(str(message.content)))


def theirs(message: Message, place: str) -> BaseMessage:
    match message["role"]:
        case "system" | "developer":
            return SystemMessage(said(message), id=place)
        case "assistant":
            calls = [
                {"name": call["name"], "args": arguments_of(call), "id": call["id"]}
                for call in parts(message, "tool_call")
            ]
            return AIMessage(said(message), tool_calls=calls, id=place)
        case "tool":
            (result,) = parts(message, "tool_result")
            return ToolMessage(result_text(result), tool_call_id=result["tool_call_id"], id=place)
        case _:
            images = [{"type": "image_url", "image_url": {"url": part["url"]}} for part in parts(message, "image")]
            text = said(message)
            return HumanMessage([{"type": "text", "text": text}, *images] if images else text, id=place)


def trim(session: Given, **options: Any) -> None:
    """The newest messages that fit, of the whole history, at every turn."""
    told = Translated(session)
    for turn in session.turns:
        kept = trim_messages(
            told.messages[:turn],
            max_tokens=session.budget_tokens,
            token_counter=told.count,
            strategy="last",
            include_system=True,
            **options,
        )
        send([told.ours(message) for message in kept])


def trim_human(session: Given) -> None:
    """The same, beginning with something that a person said, as its documentation advises."""
    trim(session, start_on="human", end_on=("human", "tool"))


def clear(session: Given) -> None:
    """Old tool results give way to a placeholder, in a copy of the history, at every turn. The last three stay."""
    told = Translated(session)
    edit = ClearToolUsesEdit(trigger=session.budget_tokens)
    for turn in session.turns:
        messages = deepcopy(told.messages[:turn])
        edit.apply(messages, count_tokens=told.count)
        send([told.ours(message) for message in messages])


def summarize(session: Given) -> None:
    """Past the budget, everything but the last twenty messages becomes a summary, for good.

    The system prompt is not part of an agent's state there: it stands before the messages and is counted with them.
    """
    told = Translated(session)
    opening = [message for message in told.messages if isinstance(message, SystemMessage)]
    middleware = SummarizationMiddleware(
        StandIn(),
        trigger=("tokens", max(1, session.budget_tokens - told.count(opening))),
        token_counter=told.count,
    )
    state: list[BaseMessage] = []
    for fresh in session.fresh():
        state += [told.messages[place] for place in fresh if told.messages[place] not in opening]
        update = middleware.before_model({"messages": state}, None)
        if update is not None:
            state = [message for message in update["messages"] if not isinstance(message, RemoveMessage)]
        send([told.ours(message) for message in [*opening, *state]])


if __name__ == "__main__":
    strategy({"trim": trim, "trim_human": trim_human, "clear": clear, "summarize": summarize})(given())
