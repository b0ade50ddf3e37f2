"""What summaries cost later turns: two long sessions side by side, one of which has five hundred of them.

python -m benchmarks.summarized [TURNS]
"""

import sys
from itertools import pairwise
from statistics import median
from time import perf_counter

import pageturn as pt
from pageturn.lab.our_policies import CharacterCounter

SUMMARIES = 500
RECENT = 8  # turns that nobody sums up yet
TEXT = (
    "The agent went through the parts in order, read each of them and looked for expires_at of its token. Every part that it read "
    "compares the time in seconds, as was decided before; no part was left out so far, and nothing was changed. It means to go on "
    "with the next one in the same way, and to run the tests when all of them are done. Nobody has asked for anything else since."
)


class Played:
    """A session, and what its turns took."""

    def __init__(self, policy: pt.DerivePolicy, every: int | None) -> None:
        self.session = pt.Session.open(":memory:", policy=policy, counter=CharacterCounter())
        self.session.extend([pt.system("You are an agent."), pt.user("Read everything.")])
        self.every = every  # so many turns are summed up, again and again
        self.between: list[tuple[int, float]] = []  # turn and microseconds
        self.folds: list[tuple[int, float]] = []
        self.turns: list[tuple[str, str]] = []
        self.summaries = 0

    def take_turn(self, number: int) -> None:
        start = perf_counter()
        context = self.session.derive()
        taken = (number, 1e6 * (perf_counter() - start))
        (self.between if context.fold is None else self.folds).append(taken)
        call = pt.ToolCall(id=f"c{number}", name="read", arguments=f'{{"path": "src/part_{number}.py"}}')
        asked = self.session.append(pt.assistant(f"I read part_{number}.", call))
        lines = f"def check_{number}(token): return token.expires_at > {number}\n" * 12
        told = self.session.append(pt.tool_result(call, lines))
        self.turns.append((asked.handle, told.handle))
        if self.every is not None and number >= self.every + RECENT and number % self.every == 0:
            first, last = self.turns[-self.every - RECENT][0], self.turns[-RECENT - 1][1]
            outcome = self.session.write_back(pt.Proposal(field="summary", value=TEXT, evidence=(first, last)))
            self.summaries += isinstance(outcome, pt.Committed)


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for policy in (pt.Paged(budget_tokens=20_000), pt.Reset(threshold_tokens=20_000)):
        plain, summed_up = Played(policy, None), Played(policy, max(1, turns // SUMMARIES))
        for number in range(turns):
            plain.take_turn(number)
            summed_up.take_turn(number)
        print(f"{policy.kind}, {turns:,} turns, {summed_up.summaries} summaries")
        for span in pairwise(turns * quarter // 4 for quarter in range(5)):
            between, with_them = (_median(each.between, span) for each in (plain, summed_up))
            fold, fold_with = (_median(each.folds, span) for each in (plain, summed_up))
            print(
                f"  turns {span[0]:>6,} to {span[1]:>6,}: between folds {between:.0f} us, with summaries {with_them:.0f} us"
                f" ({with_them / between:.2f}); a fold {fold / 1e3:.0f} ms and {fold_with / 1e3:.0f} ms"
            )


def _median(taken: list[tuple[int, float]], span: tuple[int, int]) -> float:
    return median(time for turn, time in taken if span[0] <= turn < span[1])


if __name__ == "__main__":
    main()
