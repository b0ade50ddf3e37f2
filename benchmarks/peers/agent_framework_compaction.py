"""Microsoft's agent-framework: its compaction strategies. What they exclude stays excluded.

Its tokenizers are given the JSON of a message, pictures and all. Ours reads the words in it; its own estimate counts everything.
"""

import asyncio
import json
from typing import Any

from agent_framework import (
    CharacterEstimatorTokenizer,
    Content,
    ContextWindowCompactionStrategy,
    TokenBudgetComposedStrategy,
    ToolResultCompactionStrategy,
    apply_compaction,
)
from agent_framework import Message as Theirs
from relay import Given, Message, given, message_of, parts, result_text, said, send, strategy, text_part, tokens


class Words:
    """Counts the words of a message, as for all others."""

    def __init__(self, session: Given) -> None:
        self._session = session

    def count_tokens(self, text: str) -> int:
        message = json.loads(text)
        place = message["message_id"] or ""
        if place.isdecimal():
            return tokens(self._session.messages[int(place)])
        return sum(len(content.get("text") or "") for content in message["contents"]) // 4


def theirs(message: Message, place: int) -> Theirs:
    contents = []
    text = said(message)
    if text or message["role"] in ("system", "developer", "user"):
        contents.append(Content.from_text(text))
    contents += [
        Content.from_function_call(call["id"], call["name"], arguments=call["arguments"])
        for call in parts(message, "tool_call")
    ]
    contents += [
        Content.from_function_result(result["tool_call_id"], result=result_text(result))
        for result in parts(message, "tool_result")
    ]
    contents += [
        Content.from_uri(image["url"], media_type=image.get("mime_type", "image/png"))
        for image in parts(message, "image")
    ]
    role = "system" if message["role"] == "developer" else message["role"]
    return Theirs(role, contents, message_id=str(place))


def ours(message: Theirs) -> int | Message:
    if (message.message_id or "").isdecimal():
        return int(message.message_id)
    return message_of(str(message.role), text_part(message.text))


def replay(session: Given, compaction: Any, tokenizer: Any) -> None:
    state: list[Theirs] = []
    for fresh in session.fresh():
        state += [theirs(session.messages[place], place) for place in fresh]
        kept = asyncio.run(apply_compaction(state, strategy=compaction, tokenizer=tokenizer))
        send([ours(message) for message in kept])


def window(session: Given, tokenizer: Any = None) -> None:
    """Old results give way to short ones at half of the budget; from four fifths on, the oldest go."""
    tokenizer = tokenizer or Words(session)
    compaction = ContextWindowCompactionStrategy(
        max_context_window_tokens=session.budget_tokens, max_output_tokens=0, tokenizer=tokenizer
    )
    replay(session, compaction, tokenizer)


def window_own(session: Given) -> None:
    """The same, as they count."""
    window(session, CharacterEstimatorTokenizer())


def budget(session: Given) -> None:
    """Old results give way to short ones past the budget; if that is not enough, the oldest go."""
    tokenizer = Words(session)
    compaction = TokenBudgetComposedStrategy(
        token_budget=session.budget_tokens, tokenizer=tokenizer, strategies=[ToolResultCompactionStrategy()]
    )
    replay(session, compaction, tokenizer)


if __name__ == "__main__":
    strategy({"window": window, "window_own": window_own, "budget": budget})(given())
