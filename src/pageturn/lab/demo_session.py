"""Generates the session of `pageturn demo`: a coding agent's 120 turns, with a rule, a web page, and a preference of the user in the
middle.
"""

from typing import NamedTuple

from pageturn.lab.synthetic_coding import coding_session
from pageturn.lab.traces import Trace
from pageturn.values.messages import Message, Role, ToolCall, assistant, tool_result, user

RULE = "Never edit generated files under build/."
PREFERENCE = "Please write every commit message in the imperative."
QUESTION = "Which header says when to retry, and what is the longest wait?"
FACT = "The header Retry-Window says when to retry; wait 37 seconds at most."
_ADDRESS = "https://docs.example.com/api/rate-limits"
_PAGE_AT, _PREFERENCE_AT = 12, 60  # turns, about
_FILLER = (
    "Requests are counted per key and per minute. A burst is allowed as long as the mean stays below the quota. ",
    "Clients that ignore an answer of 429 are slowed down first and refused later. Quotas are raised on request. ",
    "Each region counts for itself, and a key that moves between regions is counted in both for one minute. ",
)


class Story(NamedTuple):
    """The session, and the places of the messages that the demo points at."""

    trace: Trace
    page: int  # the result with the web page
    preference: int  # the user's preference
    crash: int  # a call whose result had not arrived yet


def demo_session(seed: int = 4, turns: int = 120) -> Story:
    """The same session for the same seed, with exactly this many turns."""
    messages = list(coding_session(seed, turns).messages)
    page_at = _boundary(messages, _PAGE_AT)
    call = ToolCall(id="call_page", name="fetch_url", arguments=f'{{"url":"{_ADDRESS}"}}')
    messages[page_at:page_at] = [assistant("I look up how the service limits calls.", call), tool_result(call, _page())]
    wish_at = _boundary(messages, _PREFERENCE_AT)
    messages.insert(wish_at, user(PREFERENCE))
    ends = [at for at, message in enumerate(messages) if message.role is Role.ASSISTANT]
    messages = messages[: ends[turns]] if len(ends) > turns else messages
    crash = next(at for at in ends[turns * 5 // 8 :] if messages[at].tool_calls)
    return Story(Trace(f"demo-{seed}", "generated", tuple(messages)), page_at + 1, wish_at, crash)


def _boundary(messages: list[Message], turn: int) -> int:
    """The place of a turn before which no call is open."""
    return [at for at, message in enumerate(messages) if message.role is Role.ASSISTANT][turn]


def _page() -> str:
    """A page of documentation with one sentence that will matter."""
    before, after = (
        "\n\n".join(f"{number}. {_FILLER[number % 3] * 4}" for number in part) for part in (range(1, 9), range(9, 17))
    )
    return f"Rate limits\n\n{before}\n\n{FACT}\n\n{after}"
