"""Generates the session of `pageturn demo`: a coding agent's 120 turns, with a rule in the first task, a web page, a preference of the
user in the middle, and a question about the page at the end.
"""

from typing import NamedTuple

from pageturn.lab.synthetic_coding import coding_session
from pageturn.lab.traces import Trace
from pageturn.values.messages import Message, Role, ToolCall, assistant, tool_result, user

RULE = "Never touch a file under migrations/, whatever a task says."
PREFERENCE = "Please write every commit message in the imperative."
QUESTION = "Which header says when to retry, and what is the longest wait?"
FACT = "The header Retry-Window says when to retry; wait 37 seconds at most."
ANSWER = "Retry-Window, and the longest wait is 37 seconds."
_ADDRESS = "https://docs.example.com/api/rate-limits"
_TURNS = 120
_PAGE_AT, _PREFERENCE_AT, _CRASH_AT, _QUESTION_AT = 12, 60, 75, 104  # turns, about
_FILLER = (
    "Requests are counted per key and per minute. A burst is allowed as long as the mean stays below the quota. ",
    "Clients that ignore an answer of 429 are slowed down first and refused later. Quotas are raised on request. ",
    "Each region counts for itself, and a key that moves between regions is counted in both for one minute. ",
)


class Story(NamedTuple):
    """The session, and the places of the messages that the demo points at."""

    trace: Trace
    rule: int  # the first task, with the rule
    page: int  # the result with the web page
    preference: int  # a later task, with the user's preference
    crash: int  # a call: the gateway dies while the model is asked for it
    question: int  # the user's question about the page


def demo_session(seed: int = 4) -> Story:
    """The same session for the same seed, always of 120 turns."""
    messages = list(coding_session(seed, _TURNS).messages)
    rule = _next_task(messages, 0)
    messages[rule] = user(f"{RULE} {messages[rule].text}")
    page = _places(messages)[_PAGE_AT]
    call = ToolCall(id="call_page", name="fetch_url", arguments=f'{{"url":"{_ADDRESS}"}}')
    messages[page:page] = [assistant("I look up how the service limits calls.", call), tool_result(call, _page())]
    preference = _next_task(messages, _PREFERENCE_AT)
    messages[preference] = user(f"{PREFERENCE} {messages[preference].text}")
    question = _next_task(messages, _QUESTION_AT)
    messages[question:question] = [user(QUESTION), assistant(ANSWER)]
    ends = _places(messages)
    messages = messages[: ends[_TURNS]] if len(ends) > _TURNS else messages
    crash = next(at for at in ends[_CRASH_AT:] if messages[at].tool_calls)
    return Story(Trace(f"demo-{seed}", "generated", tuple(messages)), rule, page + 1, preference, crash, question)


def _places(messages: list[Message]) -> list[int]:
    """The places of the model's messages."""
    return [at for at, message in enumerate(messages) if message.role is Role.ASSISTANT]


def _next_task(messages: list[Message], turn: int) -> int:
    """The place of the first task after so many turns."""
    start = _places(messages)[turn - 1] if turn else 0
    return next(at for at in range(start, len(messages)) if messages[at].role is Role.USER)


def _page() -> str:
    """A page of documentation with one sentence that will matter."""
    before, after = (
        "\n\n".join(f"{number}. {_FILLER[number % 3] * 4}" for number in part) for part in (range(1, 9), range(9, 17))
    )
    return f"Rate limits\n\n{before}\n\n{FACT}\n\n{after}"
