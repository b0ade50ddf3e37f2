"""A policy of your own: keep failures, then the newest units, and spend at most half of the remaining room."""

import pageturn as pt
from pageturn.testing import check_policy
from pageturn.values.layout import Candidate, Frame, Levels

FULL = pt.ResidencyLevel.FULL


@pt.register_policy("failures_first")  # the name under which journals know it
class FailuresFirst(pt.DerivePolicy):
    """Units that are not chosen are in index lines, from which they can be recalled; rules and the task are shown anyway."""

    budget_tokens: int = 0  # a field is a setting, and is stored with the name

    def limit_tokens(self, window_tokens: int) -> int:
        most = super().limit_tokens(window_tokens)
        return min(most, self.budget_tokens or most)

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        """The units to show in full, most important first. `tokens` is what is shown anyway."""
        room = frame.budget_tokens - tokens
        if frame.is_pressed:
            room //= 2  # so that the next fold is not due at once
        wanted: dict[int, pt.ResidencyLevel] = {}
        for unit in sorted(frame.candidates, key=_importance, reverse=True):
            size = unit.sizes.get(FULL)
            if size is not None and size <= room:
                room -= size
                wanted[unit.first] = FULL
        return wanted


def _importance(unit: Candidate) -> tuple[bool, int]:
    return unit.is_error, unit.first


def main() -> None:
    """Check it with the suite for policies, and use it."""
    check_policy(FailuresFirst)
    with pt.Session.open(policy=FailuresFirst(budget_tokens=8_000)) as session:
        session.append(pt.user("Why does the build fail?"))
        print(session.derive().budget_tokens)


if __name__ == "__main__":
    main()
