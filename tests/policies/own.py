"""A policy as a user would write one."""

from typing import ClassVar

import pageturn as pt

FULL = pt.ResidencyLevel.FULL


@pt.register_policy("errors_first_in_tests")
class ErrorsFirst(pt.DerivePolicy):
    """Half of the room: what a reset left, what failed, then the newest."""

    keeps_ledger: ClassVar[bool] = True

    budget_tokens: int = 0

    def limit_tokens(self, window_tokens):
        most = super().limit_tokens(window_tokens)
        return min(most, self.budget_tokens or most)

    def plan(self, frame, least, tokens):
        room = frame.budget_tokens - tokens
        room = room // 2 if frame.is_pressed else room
        wanted = {}
        for unit in sorted(frame.candidates, key=_worth, reverse=True):
            if FULL in unit.sizes and unit.sizes[FULL] <= room:
                room -= unit.sizes[FULL]
                wanted[unit.first] = FULL
        return wanted


def _worth(unit):
    return unit.about == "summary", unit.is_error, unit.first


@pt.register_policy("restless_in_tests")
class Restless(pt.DerivePolicy):
    """Every context is a fold that shows what the laws demand."""

    budget_tokens: int = 0

    def limit_tokens(self, window_tokens):
        most = super().limit_tokens(window_tokens)
        return min(most, self.budget_tokens or most)

    def is_full(self, growth, budget_tokens):
        return True

    def plan(self, frame, least, tokens):
        return {}


@pt.register_policy("spends_all_in_tests")
class SpendsAll(Restless, tag="spends_all_in_tests"):
    """Folds only where the budget is full, and then shows as much as fits, the newest whole."""

    share: float = 0.6
    at_every_turn: bool = False

    def is_full(self, growth, budget_tokens):
        return self.at_every_turn or growth.tokens > budget_tokens

    def plan(self, frame, least, tokens):
        room = frame.needed_tokens + int(self.share * (frame.budget_tokens - frame.needed_tokens)) - tokens
        wanted = {}
        for unit in reversed([unit for unit in frame.candidates if unit.sizes]):
            if unit.sizes[FULL] <= room:
                room -= unit.sizes[FULL]
                wanted[unit.first] = FULL
        return wanted
