"""The paged policy as a chooser of the simulation: floors, then demanded pages, then pointers, then its upgrades."""

from collections.abc import Iterable, Mapping, Sequence

from pageturn.lab.simulation import Chooser
from pageturn.lab.synthetic_workloads import Demand, PageSpec, Pin, Turn
from pageturn.policies.packing import Values, climb
from pageturn.values.layout import Candidate
from pageturn.values.pages import ResidencyLevel


class PagedChooser(Chooser):
    """Chooses as `Paged` does, by the attributes of a synthetic page instead of names and text."""

    def choose(
        self,
        pages: Sequence[PageSpec],
        *,
        required: Mapping[str, ResidencyLevel],
        demands: Sequence[Demand],  # noqa: ARG002
        recency: Mapping[str, float],
        budget_tokens: int,
        future: Sequence[Turn],  # noqa: ARG002
    ) -> Mapping[str, ResidencyLevel]:
        """The levels within the budget."""
        by_id = {page.id: page for page in pages}
        levels: dict[str, ResidencyLevel] = {}
        room = budget_tokens
        hard = {page.id: page.floor for page in pages if page.pin is Pin.HARD and page.id in required}
        pointers = {page.id: min(page.tokens) for page in sorted(pages, key=lambda page: -recency.get(page.id, 0.0))}
        for wanted in (hard, required, pointers):
            for name, level in _cheapest_first(wanted, by_id):
                paid = by_id[name].tokens[levels[name]] if name in levels else 0
                tokens = by_id[name].tokens[level] - paid
                if (name not in levels or level > levels[name]) and tokens <= room:
                    levels[name] = level
                    room -= tokens
        units = [Candidate(at, at, _from_full_down(page), page.floor) for at, page in enumerate(pages)]
        worth = [(page.base_utility + page.recompute_cost) * (1 + recency.get(page.id, 0.0)) for page in pages]
        start = {at: levels[page.id] for at, page in enumerate(pages) if page.id in levels}
        standing = [unit for unit in units if unit.first in start]

        def value(unit: Candidate) -> Values:
            steps = len(unit.sizes)
            return {level: worth[unit.first] * (steps - at) / steps for at, level in enumerate(unit.sizes)}

        climbed = climb(standing, start, value, room)
        return levels | {pages[at].id: level for at, level in climbed.items()}


def _cheapest_first(
    wanted: Mapping[str, ResidencyLevel], pages: Mapping[str, PageSpec]
) -> Iterable[tuple[str, ResidencyLevel]]:
    return sorted(wanted.items(), key=lambda item: pages[item[0]].tokens[item[1]])


def _from_full_down(page: PageSpec) -> dict[ResidencyLevel, int]:
    return dict(sorted(page.tokens.items(), key=lambda item: item[0].fidelity, reverse=True))
