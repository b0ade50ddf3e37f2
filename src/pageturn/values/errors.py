"""The exceptions, as one tree. Outcomes that a caller should expect are faults, not exceptions.

PageturnError
├── InvalidInput     a value from outside has the wrong form
│   └── UnknownPolicy ... the name of a policy that is not registered
├── UnknownPrice     a model is in no table of prices
├── NotADegradation  a change of level that the page's kind does not allow
│   └── BelowFloor   ... because it would sink below the kind's minimum fidelity
├── MissingTokenizer an encoding that cannot be counted on this machine
├── MissingExtra     the packages of an extra are not installed; also an ImportError
├── PolicyError      a policy gave an answer that no context can be made of
├── BudgetTooSmall   the pages that may not shrink need more tokens than the budget
│   └── ModelTooSmall ... and a provider rejected a prompt of that size
├── SummaryFailed    a summarizer could not write its text
├── NotScrubbed      erased bytes are gone from the session, but still in the file
└── StoreError       the store could not do it, and nothing was changed
    ├── Conflict     ... because another writer appended first
    ├── RuleUnreadable ... because the content of a rule is damaged or missing
    ├── Busy         ... because another writer took longer than the wait allows
    └── Damaged      ... because bytes are missing or were altered; other data may be intact
"""

from collections.abc import Iterable
from typing import Any

_SHOWN = 60  # characters of a value in an error message


class PageturnError(Exception):
    """The base of everything that pageturn raises on purpose."""


class InvalidInput(PageturnError, ValueError):
    """Invalid input: says where, what was expected, and what was given."""

    def __init__(self, path: str, *, expected: str, got: str) -> None:
        super().__init__(f"{path}: expected {expected}, got {got}")
        self.path = path
        self.expected = expected
        self.got = got


def show(value: object) -> str:
    """A value in an error message: always at most one line."""
    try:
        text = repr(value[:_SHOWN] if isinstance(value, str | bytes) else value)
    except Exception:  # noqa: BLE001 (too deep, a number too long to print, or a foreign class that raises anything)
        return f"a value of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


class UnknownPrice(PageturnError, LookupError):
    """The price of a model is unknown, so no figure in dollars can be given."""

    def __init__(self, model: str, *, as_of: str) -> None:
        super().__init__(
            f"price unknown: {show(model)} is not in the table of {as_of}; "
            "give --price INPUT,OUTPUT[,READ[,WRITE]] in dollars per million tokens"
        )
        self.model = model


class UnknownPolicy(InvalidInput):
    """A session's policy is a user's own, and its name is not registered here, or has other fields.

    The session can still be read, searched, appended to and exported. It is not derived with a policy that nobody chose.
    """

    def __init__(self, name: str, *, but: str | None = None) -> None:
        way = f"register it by @pageturn.register_policy({name!r}) before the session is used, or name another: policy= (docs/contexts.md, Write your own policy)"
        found = f"{name!r}, which is not registered" if but is None else f"{name!r}, whose fields do not fit: {but}"
        super().__init__("policy", expected=f"a policy that is known here; {way}", got=found)
        self.name = name


class NotADegradation(PageturnError, ValueError):
    """A step that is not on the degradation path of the page's kind."""


class BelowFloor(NotADegradation):
    """A step below the minimum fidelity of the page's kind."""


class MissingTokenizer(PageturnError, RuntimeError):
    """No tokenizer for this encoding is installed."""


class MissingExtra(PageturnError, ImportError):
    """A feature needs packages that `pip install pageturn` alone does not install."""

    def __init__(self, what: str, *, extra: str) -> None:
        super().__init__(f"{what} needs more packages: pip install 'pageturn[{extra}]'")
        self.extra = extra


class PolicyError(PageturnError, RuntimeError):
    """A policy raised an exception, or gave an answer that no context can be made of; nothing was derived."""

    def __init__(self, policy: str, what: str) -> None:
        super().__init__(f"policy {policy!r}: {what} (docs/errors.md, PolicyError)")
        self.policy = policy


class BudgetTooSmall(PageturnError, ValueError):
    """The pages that may not be shortened further need more tokens than the budget has."""

    def __init__(self, *, needed_tokens: int, budget_tokens: int, handles: tuple[str, ...]) -> None:
        named = ", ".join(handles[:8]) + (" and others" if len(handles) > 8 else "")
        self.lack = f"a budget of {budget_tokens:,} tokens is too small: {needed_tokens:,} are needed by {named}"
        advice = "Raise the budget, unpin or erase some of them, or offer fewer tools"
        super().__init__(f"{self.lack}. {advice} (docs/contexts.md, Who gets the budget first)")
        self.needed_tokens = needed_tokens
        self.budget_tokens = budget_tokens
        self.handles = handles

    def with_needed(self, tokens: int) -> "BudgetTooSmall":
        """The same error, if fewer tokens would be enough."""
        return BudgetTooSmall(needed_tokens=tokens, budget_tokens=self.budget_tokens, handles=self.handles)


class ModelTooSmall(BudgetTooSmall):
    """A provider rejected a prompt, and the pages that may not shrink need as much, so a larger budget does not help. Tokens are by our
    count.
    """

    def __init__(self, *, model: str, refused_tokens: int, needed_tokens: int, handles: tuple[str, ...]) -> None:
        super().__init__(needed_tokens=needed_tokens, budget_tokens=max(0, refused_tokens - 1), handles=handles)
        advice = "Unpin or erase some of them, offer fewer tools, derive for another model"
        otherwise = f"call session.overflow(None, model={model!r}) if it takes more now"
        self.args = (
            f"{model} refused {refused_tokens:,} tokens; {self.lack}. {advice}, or {otherwise} (docs/contexts.md, A prompt that was too long)",
        )
        self.model = model
        self.refused_tokens = refused_tokens


class SummaryFailed(PageturnError, RuntimeError):
    """A summarizer could not write its text; the session records it and continues."""


class NotScrubbed(PageturnError, OSError):
    """The file could not be rewritten to remove erased bytes; `pageturn vacuum --yes` does it later."""


class StoreError(PageturnError, OSError):
    """The store failed, and nothing was changed."""


class RuleUnreadable(StoreError):
    """A rule cannot be read from the store, and no context is derived without it; `fault` says why."""

    def __init__(self, message: str, *, page: int, fault: Any) -> None:
        super().__init__(message)
        self.page = page
        self.fault = fault


class Conflict(StoreError):
    """Another writer appended first. Nothing was written; `missed` has the other writer's entries."""

    def __init__(self, message: str, *, missed: Iterable[Any] = ()) -> None:
        super().__init__(message)
        self.missed = tuple(missed)


class Busy(StoreError):
    """Another process or thread was writing to the store for longer than `wait_seconds`; try again."""


class Damaged(StoreError):
    """Bytes are missing or differ from what was written. Everything that does not need them still works."""
