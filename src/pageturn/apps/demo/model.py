"""A scripted model: it says the next step of a generated session, and answers the question about it only from what its request shows."""

import re
from collections.abc import Iterable
from itertools import pairwise

from pageturn.lab.demo_session import QUESTION, Story
from pageturn.lab.traces import text_of
from pageturn.values.errors import InvalidInput
from pageturn.values.json import to_json
from pageturn.values.messages import Message, Role, ToolCall, assistant

RECALL = "recall"  # the name of the gateway's tool
_RECALLING = "call_recall"
_FACT = re.compile(r"The header ([\w-]+) says when to retry; wait (\d+) seconds at most")
_UNKNOWN = "I do not know: nothing that I can see says so."


class ScriptedModel:
    """What it says depends on the request alone, as with any model; it remembers nothing."""

    def __init__(self, story: Story) -> None:
        steps = pairwise(story.trace.messages)
        self._steps = {_cue(before): said for before, said in steps if said.role is Role.ASSISTANT}

    def reply(self, messages: list[Message], tools: Iterable[str]) -> Message:
        """The answer to a request."""
        cue = _cue(messages[-1])
        if cue in (QUESTION, _RECALLING):
            may_recall = RECALL in tools and cue != _RECALLING
            return _answer(messages, may_recall=may_recall)
        if cue not in self._steps:
            raise InvalidInput("$.messages", expected="a message of the generated session at the end", got=repr(cue))
        return self._steps[cue]


def shows_fact(messages: Iterable[Message]) -> bool:
    """Whether the answer to the question stands in these messages."""
    return any(_FACT.search(text_of(message)) for message in messages)


def _answer(messages: list[Message], *, may_recall: bool) -> Message:
    """What the model reads in its request, else a call of the recall tool, else that it does not know."""
    found = next((found for message in messages if (found := _FACT.search(text_of(message)))), None)
    if found is not None:
        return assistant(f"{found[1]}, and the longest wait is {found[2]} seconds.")
    if may_recall:
        return assistant(ToolCall(id=_RECALLING, name=RECALL, arguments=to_json({"query": QUESTION}).decode()))
    return assistant(_UNKNOWN)


def _cue(message: Message) -> str:
    """What a message asks for: the last result's call, or the words."""
    results = message.tool_results
    return results[-1].tool_call_id if results else message.text
