"""The oracle of the simulation: knows what the next turns demand, and shows as much of it as fits the budget."""

from collections.abc import Mapping, Sequence

from pageturn.lab.coverage_oracle import Choice, cover
from pageturn.lab.simulation import Chooser
from pageturn.lab.synthetic_workloads import Demand, PageSpec, Pin, Turn
from pageturn.values.pages import ResidencyLevel


class OracleChooser(Chooser):
    """Rules at their floors; then whatever the coming turns need, the next one first."""

    def __init__(self, lookahead: int) -> None:
        self.lookahead = lookahead

    def choose(
        self,
        pages: Sequence[PageSpec],
        *,
        required: Mapping[str, ResidencyLevel],
        demands: Sequence[Demand],  # noqa: ARG002
        recency: Mapping[str, float],  # noqa: ARG002
        budget_tokens: int,
        future: Sequence[Turn],
    ) -> dict[str, ResidencyLevel]:
        """The levels within the budget."""
        rules = sorted((page for page in pages if page.pin is Pin.HARD), key=lambda page: page.floor_tokens)
        room = budget_tokens
        levels: dict[str, ResidencyLevel] = {}
        for page in rules:
            if page.id in required and page.floor_tokens <= room:
                levels[page.id] = page.floor
                room -= page.floor_tokens
        wanted = [
            frozenset(f"{at} {demand.page} {demand.level}" for demand in turn.demands)
            for at, turn in enumerate(future[: self.lookahead])
        ]
        others = [page for page in pages if page.pin is not Pin.HARD]
        offers = [_offered(page, future[: self.lookahead]) for page in others]
        groups = {at: [choice for choice, _ in offered] for at, offered in enumerate(offers) if offered}
        taken = cover(groups, wanted, room).taken
        return levels | {others[at].id: offers[at][choice][1] for at, choice in taken.items()}


def _offered(page: PageSpec, future: Sequence[Turn]) -> list[tuple[Choice, ResidencyLevel]]:
    """The levels of a page, with the demands that each of them satisfies."""
    asked = [
        (f"{at} {page.id} {demand.level}", demand.level)
        for at, turn in enumerate(future)
        for demand in turn.demands
        if demand.page == page.id
    ]
    offered = (
        (Choice(tokens, frozenset(name for name, least in asked if level >= least)), level)
        for level, tokens in page.tokens.items()
    )
    return [(choice, level) for choice, level in offered if choice.names]
