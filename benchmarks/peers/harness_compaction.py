"""pydantic-ai-harness: its compaction, run by `compact_now` whenever the history has passed the budget. Its edits are for good."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai_harness.compaction import (
    ClearToolResults,
    SlidingWindowCompaction,
    SummarizingCompaction,
    TieredCompaction,
    compact_now,
    pin,
)
from relay import (
    Given,
    Message,
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


def stand_in(messages: list[ModelMessage], _: Any) -> ModelResponse:
    """The model that writes summaries."""
    told = [str(part.content) for message in messages for part in message.parts if hasattr(part, "content")]
    return ModelResponse(parts=[TextPart(summary("\n".join(told)))])


MODEL = FunctionModel(stand_in)


def length(text: str) -> int:
    return len(text) // 4


class Translated:
    """The session in their messages: what lies between two answers is one request of several parts."""

    def __init__(self, session: Given) -> None:
        self._session = session
        self._places: dict[Any, int] = {}
        self._names = {call["id"]: call["name"] for each in session.messages for call in parts(each, "tool_call")}

    def theirs(self, places: Sequence[int]) -> list[ModelMessage]:
        told: list[ModelMessage] = []
        waiting: list[Any] = []
        for place in places:
            message = self._session.messages[place]
            if message["role"] == "assistant":
                if waiting:
                    told.append(ModelRequest(parts=waiting))
                    waiting = []
                told.append(self._answer(place, message))
            else:
                part = self._part(place, message)
                self._places.setdefault(key(part), place)
                waiting.append(part)
        return [*told, ModelRequest(parts=waiting)] if waiting else told

    def _answer(self, place: int, message: Message) -> ModelResponse:
        calls = [
            ToolCallPart(call["name"], call["arguments"], tool_call_id=call["id"])
            for call in parts(message, "tool_call")
        ]
        text = said(message)
        told = ModelResponse(parts=[*([TextPart(text)] if text else []), *calls])
        self._places.setdefault(key(told), place)
        return told

    def _part(self, place: int, message: Message) -> Any:
        match message["role"]:
            case "system" | "developer":
                return SystemPromptPart(said(message))
            case "tool":
                (result,) = parts(message, "tool_result")
                name = self._names.get(result["tool_call_id"], "tool")
                return ToolReturnPart(name, result_text(result), tool_call_id=result["tool_call_id"])
            case _ if place in self._session.pinned:
                return pin(said(message))
            case _:
                images = [ImageUrl(part["url"]) for part in parts(message, "image")]
                text = said(message)
                return UserPromptPart([text, *images] if images else text)

    def ours(self, messages: Sequence[ModelMessage]) -> list[int | Message]:
        told: list[int | Message] = []
        for message in messages:
            units = [message] if isinstance(message, ModelResponse) else message.parts
            told += [self._places[key(unit)] if key(unit) in self._places else new(unit) for unit in units]
        return told

    def count(self, messages: Sequence[ModelMessage]) -> int:
        at = self._session.messages
        return sum(tokens(at[told] if isinstance(told, int) else told) for told in self.ours(messages))


def key(unit: Any) -> Any:
    """What makes a part or an answer the same as another."""
    match unit:
        case ModelResponse():
            return ("answer", *(key(part) for part in unit.parts))
        case ToolReturnPart():
            return ("result", unit.tool_call_id, str(unit.content))
        case ToolCallPart():
            return ("call", unit.tool_call_id, str(unit.args))
        case _:
            return (type(unit).__name__, words(unit))


def words(part: Any) -> str:
    content = part.content
    if isinstance(content, str):
        return content
    return "\n".join(item if isinstance(item, str) else getattr(item, "content", None) or item.url for item in content)


def new(unit: Any) -> Message:
    match unit:
        case ModelResponse():
            calls = [
                {
                    "type": "tool_call",
                    "id": part.tool_call_id,
                    "name": part.tool_name,
                    "arguments": part.args if isinstance(part.args, str) else json.dumps(part.args),
                }
                for part in unit.parts
                if isinstance(part, ToolCallPart)
            ]
            texts = [text_part(part.content) for part in unit.parts if isinstance(part, TextPart)]
            return message_of("assistant", *texts, *calls)
        case ToolReturnPart():
            result = {"type": "tool_result", "tool_call_id": unit.tool_call_id, "content": str(unit.content)}
            return message_of("tool", result)
        case SystemPromptPart():
            return message_of("system", text_part(unit.content))
        case _:
            return message_of("user", text_part(words(unit)))


def replay(session: Given, compaction: Any) -> None:
    told = Translated(session)
    state: list[ModelMessage] = []
    for fresh in session.fresh():
        state += told.theirs(fresh)
        if told.count(state) > session.budget_tokens:
            state = asyncio.run(compact_now(compaction, state, model=MODEL))
        send(told.ours(state))


def sliding(session: Given) -> None:
    """The newest messages, three quarters of the budget, and the first thing that a person said."""
    keep = session.budget_tokens * 3 // 4
    replay(session, SlidingWindowCompaction(max_tokens=session.budget_tokens, keep_tokens=keep, tokenizer=length))


def summarizing(session: Given) -> None:
    """A summary, half of the budget of the newest messages, and the first thing that a person said."""
    keep = session.budget_tokens // 2
    replay(
        session,
        SummarizingCompaction(model=MODEL, max_tokens=session.budget_tokens, keep_tokens=keep, tokenizer=length),
    )


def tiered(session: Given) -> None:
    """Old results are cleared first; if that is not enough, the rest is summed up."""
    tiers = [
        ClearToolResults(max_tokens=1, tokenizer=length),
        SummarizingCompaction(model=MODEL, max_tokens=1, keep_tokens=session.budget_tokens // 2, tokenizer=length),
    ]
    replay(session, TieredCompaction(tiers=tiers, target_tokens=session.budget_tokens, tokenizer=length))


if __name__ == "__main__":
    strategy({"sliding": sliding, "summarizing": summarizing, "tiered": tiered})(given())
