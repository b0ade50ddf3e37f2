"""Handles failures: error attribution, what an outcome says about an agent, and which agent to try next."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, SupportsFloat

from pageturn.tokens.too_long import read_overflow
from pageturn.values.checks import require_finite
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import Message, ToolResult

_BUSY = frozenset({408, 409, 425, 429, 503, 529})
_REFUSED = frozenset({401, 402, 403})  # problems of the account at the provider, whichever the agent
_UNKNOWN = frozenset({404, 410})
_LONGEST_REST = 86_400.0  # a day: an agent that asks for more is tried again tomorrow
_INTERRUPTIONS = ("KeyboardInterrupt", "CancelledError", "SystemExit", "GeneratorExit")


class Failure(NamedTuple):
    """How to react to an error."""

    why: str
    blames_agent: bool
    helps_elsewhere: bool = True  # whether another agent might do better with the same request
    is_providers: bool = False  # whether others of the same provider are likely to fail too
    rest_seconds: float = 0.0
    is_limit: bool = False  # it was called too often
    is_down: bool = True  # whether it means that the agent cannot be reached; several in a row make it rest
    is_too_long: bool = False
    prompt_tokens: int | None = None  # of a prompt that was too long, if the error says it


class Verdict(NamedTuple):
    """What an outcome counts: between failure, 0, and success, 1; None, with the reason, if it does not count."""

    value: float | None
    excused: str | None = None
    is_weak: bool = False  # an indirect sign of how the task went
    failure: Failure | None = None  # why there was no answer


def read_failure(error: object, *, now: datetime) -> Failure:
    """The attribution of an error, by its status, headers and text; `now` is used for a retry-after date."""
    if error is None or isinstance(error, bool):
        raise InvalidInput("error", expected="an exception, or what a provider answered", got=show(error))
    if type(error).__name__ in _INTERRUPTIONS:
        return Failure("it was interrupted", blames_agent=False, helps_elsewhere=False, is_down=False)
    overflow = read_overflow(error)
    if overflow is not None:
        return Failure(
            "the prompt was too long",
            blames_agent=False,
            helps_elsewhere=False,
            is_down=False,
            is_too_long=True,
            prompt_tokens=overflow.sent,
        )
    status = _status(error)
    rest = _rest_seconds(error, now)
    if rest > 0.0 or status == 429:
        return Failure(
            "it asked to retry later", blames_agent=False, is_providers=True, rest_seconds=rest, is_limit=True
        )
    if status in _REFUSED:
        return Failure(f"the provider refused ({status})", blames_agent=False, is_providers=True)
    if status in _UNKNOWN:
        return Failure(f"there is no such agent ({status})", blames_agent=False)
    if status is not None and 400 <= status < 500 and status not in _BUSY:
        return Failure(
            f"the request was not valid ({status})", blames_agent=False, helps_elsewhere=False, is_down=False
        )
    return Failure(f"it failed ({status or type(error).__name__})", blames_agent=True)


def read_verdict(outcome: object, *, now: datetime) -> Verdict:
    """What an outcome counts: true or false, a grade, an error, or the results of tool calls."""
    match outcome:
        case bool():
            return Verdict(float(outcome))
        case SupportsFloat():  # number types of other libraries too
            value = _as_float(outcome)
            require_finite("outcome", value, at_least=0.0, at_most=1.0)
            return Verdict(value)
        case BaseException():
            failure = read_failure(outcome, now=now)
            return Verdict(
                0.0 if failure.blames_agent else None, None if failure.blames_agent else failure.why, failure=failure
            )
        case ToolResult() | Message():
            return _share_of_successes([outcome])
        case list() | tuple() if outcome and all(isinstance(each, ToolResult | Message) for each in outcome):
            return _share_of_successes(outcome)
    expected = "true or false, a grade from 0 to 1, an exception, or results of tool calls"
    raise InvalidInput("outcome", expected=expected, got=show(outcome))


def _as_float(number: SupportsFloat) -> float:
    try:
        return float(number)
    except (TypeError, ValueError, OverflowError):  # the type `float` itself, or a whole number that none can hold
        raise InvalidInput("outcome", expected="a grade from 0 to 1", got=show(number)) from None


def provider_of(agent: str) -> str:
    """The provider in the name of an agent: the part before the first slash, or all of it."""
    return agent.partition("/")[0].lower()


def left_after(failed: Sequence[str], candidates: Iterable[str]) -> list[str]:
    """The candidates without those that failed, each once. A name without a provider means that model at any provider."""
    gone = {name.lower() for name in failed}
    left: dict[str, str] = {}
    for name in candidates:
        lowered = name.lower()
        if not gone & {lowered, lowered.rpartition("/")[2]}:
            left.setdefault(lowered, name)
    return list(left.values())


def nearest(left: Sequence[str], failed: str, failure: Failure) -> list[str]:
    """The order in which to try others: siblings of the same provider first, or last if the failure is the provider's."""
    siblings = [name for name in left if provider_of(name) == provider_of(failed)]
    others = [name for name in left if name not in siblings]
    first, then = (others, siblings) if failure.is_providers else (siblings, others)
    return first or then


def _share_of_successes(found: Sequence[ToolResult | Message]) -> Verdict:
    results = [r for each in found for r in (each.tool_results if isinstance(each, Message) else (each,))]
    if not results:
        return Verdict(None, "no tool was called")
    return Verdict(sum(not result.is_error for result in results) / len(results), is_weak=True)


def _status(error: object) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "code"):
            value = getattr(holder, name, None)
            if type(value) is int and 100 <= value < 600:
                return value
    return None


def _rest_seconds(error: object, now: datetime) -> float:
    """The value of `retry-after`, as a number of seconds or as a date."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None) or {}
    asked: Any = getattr(error, "retry_after", None)
    if asked is None and hasattr(headers, "items"):
        asked = next((value for name, value in headers.items() if str(name).lower() == "retry-after"), None)
    try:
        seconds = float(asked)
    except (TypeError, ValueError, OverflowError):
        seconds = _seconds_until(asked, now) if isinstance(asked, str) else 0.0
    return min(seconds, _LONGEST_REST) if seconds > 0.0 else 0.0


def _seconds_until(date: str, now: datetime) -> float:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415  it loads sockets, which most users never need

    try:
        until = parsedate_to_datetime(date)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return ((until if until.tzinfo else until.replace(tzinfo=UTC)) - now).total_seconds()
