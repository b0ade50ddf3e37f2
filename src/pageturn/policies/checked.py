"""Asks a policy for its answer and checks that answer before a context is made from it; the policy may be a user's."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple, NoReturn, TypeVar

from pageturn.policies.contract import DerivePolicy
from pageturn.tokens.windows import input_capacity
from pageturn.values.chosen_policy import ChosenPolicy
from pageturn.values.errors import NotADegradation, PolicyError, show
from pageturn.values.layout import Candidate, Forecast, Frame, Growth, Levels
from pageturn.values.pages import PageKind, ResidencyLevel, degrade

T = TypeVar("T")

_FULL = ResidencyLevel.FULL


class CheckedPolicy(NamedTuple):
    """A policy whose answers can be trusted; a wrong one raises an error that names the policy."""

    policy: DerivePolicy

    @property
    def keeps_ledger(self) -> bool:
        """Whether its index lines show what was changed."""
        return bool(self.policy.keeps_ledger)

    @property
    def wishes_summaries(self) -> bool:
        """Whether it would like summaries instead."""
        return bool(self.policy.wishes_summaries)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know about its settings."""
        try:
            notices = self.policy.notices
        except Exception as error:
            raise self._raised("notices", error) from error
        if notices == ():
            return ()  # of most
        if not isinstance(notices, tuple) or not all(isinstance(notice, str) for notice in notices):
            raise self._error("notices", f"is {show(notices)}, expected a tuple of texts")
        return notices

    def limit_tokens(self, window_tokens: int) -> int:
        """The most tokens that a context may have; never more than the model takes."""
        limit = self._asked("limit_tokens", lambda: self.policy.limit_tokens(window_tokens))
        if type(limit) is not int or limit < 0:
            raise self._error("limit_tokens", f"returned {show(limit)}, expected a whole number of tokens, 0 or more")
        return min(limit, input_capacity(window_tokens))

    def is_full(self, growth: Growth, budget_tokens: int) -> bool:
        """Whether a context has grown so much that it must be folded."""
        try:  # called for every context, so without a wrapper function
            answer = self.policy.is_full(growth, budget_tokens)
        except Exception as error:
            raise self._raised("is_full", error) from error
        return answer if type(answer) is bool else self._no_answer("is_full", answer)

    def pays(self, growth: Growth, budget_tokens: int) -> bool:
        """Whether a fold would pay although none is required yet."""
        try:
            answer = self.policy.pays(growth, budget_tokens)
        except Exception as error:
            raise self._raised("pays", error) from error
        return answer if type(answer) is bool else self._no_answer("pays", answer)

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        """The levels that it wants, in its order: for existing units, at levels that each of them offers.

        A unit too far back to be read offers none, and is in an index line whatever the policy wants.
        """
        shown = frame if self.policy.kind in ChosenPolicy.built_in else _copied(frame)
        wanted = self._asked("plan", lambda: self.policy.plan(shown, {**least}, tokens))
        if not isinstance(wanted, Mapping):
            got = f"returned {show(wanted)}, expected a mapping of units, by the number of their first page, to levels"
            raise self._error("plan", got)
        units = {unit.first: unit for unit in frame.candidates}
        levels: dict[int, ResidencyLevel] = {}
        for first, level in wanted.items():
            unit = units.get(first) if type(first) is int else None
            if unit is None:
                raise self._error("plan", f"names {show(first)}, which is the first page of no unit in the frame")
            if not isinstance(level, ResidencyLevel):
                raise self._error("plan", f"wants {frame.handle(first)} at {show(level)}, which is no ResidencyLevel")
            if unit.sizes:
                self._require_offered(unit, level, frame)
                levels[first] = level
        return levels

    def forecast(self, frame: Frame, levels: Levels) -> Forecast | None:
        """What it expects of a fold that shows the units at these levels."""
        forecast = self._asked("forecast", lambda: self.policy.forecast(frame, {**levels}))
        if not isinstance(forecast, Forecast | None):
            raise self._error("forecast", f"returned {show(forecast)}, expected a Forecast or None")
        return forecast

    def _require_offered(self, unit: Candidate, level: ResidencyLevel, frame: Frame) -> None:
        if level in unit.sizes and _may_have(unit.kind, unit.floor, level):
            return
        try:
            degrade(unit.kind, _FULL, level, floor=unit.floor)
        except NotADegradation as refused:
            raise type(refused)(
                f"policy {self.policy.kind!r} wants {frame.handle(unit.first)} lower: {refused}"
            ) from None
        if level not in unit.sizes:
            offered = ", ".join(map(str, unit.sizes))
            raise self._error("plan", f"wants {frame.handle(unit.first)} at {level}, but it offers only {offered}")

    def _no_answer(self, method: str, answer: object) -> NoReturn:
        raise self._error(method, f"returned {show(answer)}, expected True or False")

    def _asked(self, method: str, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except Exception as error:
            raise self._raised(method, error) from error

    def _raised(self, method: str, error: Exception) -> PolicyError:
        return self._error(method, f"raised {type(error).__name__}: {error}")

    def _error(self, method: str, what: str) -> PolicyError:
        return PolicyError(self.policy.kind, f"{method}() {what}")


@cache
def _may_have(kind: PageKind, floor: ResidencyLevel, level: ResidencyLevel) -> bool:
    """Whether a unit of a kind may have a level."""
    try:
        degrade(kind, _FULL, level, floor=floor)
    except NotADegradation:
        return False
    return True


def _copied(frame: Frame) -> Frame:
    """The frame, copied so that nothing laid out later can be changed through it."""
    items = [item._replace(sizes={**item.sizes}) if isinstance(item, Candidate) else item for item in frame.items]
    return frame._replace(items=items, groups={**frame.groups})
