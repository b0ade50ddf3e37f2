"""Orders messages as every vendor accepts them: each call is directly followed by its results, no result is alone.

A call that is still open when the model is called again gets a fixed pending result. Its real result is added later as a note,
where it arrived, since what the model has seen must not change.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator

import msgspec

from pageturn.values.fencing import escaped, fenced, labelled
from pageturn.values.messages import Message, Part, Role, Text, ToolResult, tool_result, user

PENDING = "[pending: this call has no result yet]"


class Pairing:
    """Takes messages in order of arrival, and gives them in the order of a valid request, with their tokens."""

    def __init__(self, count: Callable[[Message], int], before: Iterable[Message] = ()) -> None:
        """Messages that come `before` are given with the others, and not counted."""
        self._count = count
        self._messages: list[Message] = [*before]
        self._tokens = 0
        self._waiting = _Waiting()  # open calls of the last message that is not a result
        self._held: list[tuple[Message, int]] = []  # what arrived before their results

    def add(self, message: Message, tokens: int, handle: str) -> None:
        """Add a message; `handle` is that of its page."""
        if message.role is Role.ASSISTANT:
            self.close()
        if message.tool_results:
            self._add_results(message, tokens, handle)
        else:
            self._place(message, tokens)
        for call in message.tool_calls:
            self._waiting.add(call.id)
        if self._held and not self._waiting:
            self._release()

    def add_note(self, message: Message, tokens: int) -> None:
        """Add a note, which has no calls and no results, whatever its role."""
        self._place(message, tokens)

    def close(self) -> None:
        """Note that the model was called: a call that is open now stays pending."""
        for call in self._waiting:
            answer = pending(call)
            self._append(answer, self._count(answer))
        self._waiting.clear()
        self._release()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of a request made now."""
        if not self._waiting.ids:
            return tuple(self._messages)
        return (*self._messages, *map(pending, self._waiting), *(message for message, _ in self._held))

    @property
    def tokens(self) -> int:
        """Its tokens."""
        if not self._waiting.ids:
            return self._tokens
        return self._tokens + sum(self._count(pending(call)) for call in self._waiting) + sum(n for _, n in self._held)

    @property
    def placed_tokens(self) -> int:
        """The tokens of those that came, without results that are still to come."""
        return self._tokens + sum(tokens for _, tokens in self._held) if self._held else self._tokens

    def _add_results(self, message: Message, tokens: int, handle: str) -> None:
        answers, left = self._answers_in(message)
        if not left:
            self._append(message, tokens)
            return
        if answers:
            answering = msgspec.structs.replace(message, content=tuple(answers))
            self._append(answering, self._count(answering))
        rest = msgspec.structs.replace(message, content=tuple(left), joined=bool(answers))
        if rest.tool_results or rest.role is Role.TOOL:
            rest = note(rest, handle)
        self._place(rest, self._count(rest))

    def _answers_in(self, message: Message) -> tuple[list[Part], list[Part]]:
        """The results of a message that answer waiting calls, and all of its other parts."""
        answers: list[Part] = []
        left: list[Part] = []
        for part in message.content:
            if isinstance(part, ToolResult) and self._waiting.answer(part.tool_call_id):
                answers.append(part)
            else:
                left.append(part)
        return answers, left

    def _place(self, message: Message, tokens: int) -> None:
        """Add a message that is no result, after the results that are still to come."""
        if self._waiting:
            self._held.append((message, tokens))
        else:
            self._append(message, tokens)

    def _append(self, message: Message, tokens: int) -> None:
        self._messages.append(message)
        self._tokens += tokens

    def _release(self) -> None:
        for message, tokens in self._held:
            self._append(message, tokens)
        self._held.clear()


class _Waiting:
    """The ids of open calls in order; an id that was used twice is answered twice."""

    def __init__(self) -> None:
        self.ids: dict[int, str] = {}  # by the order in which they were made
        self._places: dict[str, deque[int]] = {}
        self._made = 0

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids.values())

    def add(self, call: str) -> None:
        self.ids[self._made] = call
        self._places.setdefault(call, deque()).append(self._made)
        self._made += 1

    def answer(self, call: str) -> bool:
        """Close the first open call of this id; returns whether there was one."""
        places = self._places.get(call)
        if not places:
            return False
        del self.ids[places.popleft()]
        return True

    def clear(self) -> None:
        self.ids.clear()
        self._places.clear()


def pending(call: str) -> Message:
    """The placeholder result of a call without a result."""
    return tool_result(call, PENDING, synthetic=True)


def note(message: Message, handle: str) -> Message:
    """A message with results whose calls are not directly before it, as a user message that quotes it."""
    parts = [inner for part in message.content for inner in (part.parts if isinstance(part, ToolResult) else (part,))]
    texts = [part.text for part in parts if isinstance(part, Text)]
    others = [part for part in parts if not isinstance(part, Text)]
    lines = [labelled(handle, "result that came late:"), *map(escaped, texts)]
    return user(fenced("\n".join(lines)), *others, synthetic=True)
