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
