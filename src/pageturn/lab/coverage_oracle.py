"""Chooses which texts to show so that as many wanted names as possible fit into a number of tokens.

Each group offers several forms of one unit, of which at most one is chosen. Earlier turns come first: no number of names of a later
turn outweighs a name of an earlier one.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

EXACT_NAMES = 12  # up to this many names, all subsets are examined
_EXACT_STEPS = 400_000


class Choice(NamedTuple):
    """A form that may be taken: its tokens, and the names that it would add."""

    tokens: int
    names: frozenset[str]


Groups = Mapping[int, Sequence[Choice]]
Taken = dict[int, int]  # the choice of each group that has one


class Cover(NamedTuple):
    """The selection, and whether nothing better exists."""

    taken: Taken
    is_exact: bool


def cover(groups: Groups, wanted: Sequence[frozenset[str]], room: int) -> Cover:
    """The choices that cover the most names of the first turn, among these the most of the second, and so on, with the fewest tokens."""
    found = _exactly(groups, wanted, room)
    if found is not None:
        return Cover(found, is_exact=True)
    taken: Taken = {}
    is_exact = False
    for turn, names in enumerate(wanted):
        first = _exactly(groups, [names], room) if turn == 0 else None
        is_exact = is_exact or (first is not None and len(wanted) == 1)
        taken = first if first is not None else _greedily(groups, names, room, taken)
    return Cover(taken, is_exact)


def most_covered(groups: Groups, wanted: frozenset[str], room: int) -> int:
    """An upper bound of the names that any choice covers; exact if the names are few."""
    found = _exactly(groups, [wanted], room)
    if found is not None:
        return len(wanted & frozenset().union(*(groups[group][at].names for group, at in found.items())))
    # Covering names costs at least the sum of these shares: a form's tokens are divided among all names that it could cover.
    shares: dict[str, Fraction] = {}
    for choices in groups.values():
        for tokens, names in choices:
            for name in (covered := names & wanted):
                share = Fraction(tokens, len(covered))
                shares[name] = min(shares.get(name, share), share)
    count, paid = 0, Fraction(0)
    for share in sorted(shares.values()):
        paid += share
        if paid > room:
            break
        count += 1
    return count


class _Reached(NamedTuple):
    """A set of names that can be covered: at what cost, and how."""

    tokens: int
    way: tuple[int, int, "_Reached"] | None = None  # the group and its choice, and what was reached before


def _exactly(groups: Groups, wanted: Sequence[frozenset[str]], room: int) -> Taken | None:
    """The best choices, by examining every subset of names; None if there are too many."""
    names = sorted(frozenset().union(*wanted))
    if len(names) > EXACT_NAMES:
        return None
    bits = {name: 1 << at for at, name in enumerate(names)}
    reached = {0: _Reached(0)}
    steps = 0
    for group, choices in groups.items():
        offered = [(_mask(choice.names, bits), at, choice.tokens) for at, choice in enumerate(choices)]
        steps += len(reached) * len(offered)
        if steps > _EXACT_STEPS:
            return None
        before = list(reached.items())
        for mask, at, tokens in offered:
            for known, way in before:
                both, paid = known | mask, way.tokens + tokens
                if both != known and paid <= room and (both not in reached or paid < reached[both].tokens):
                    reached[both] = _Reached(paid, (group, at, way))
    masks = [_mask(one, bits) for one in wanted]
    best = max(reached, key=lambda mask: (*((mask & one).bit_count() for one in masks), -reached[mask].tokens, -mask))
    return _followed(reached[best])


def _mask(names: Iterable[str], bits: Mapping[str, int]) -> int:
    mask = 0
    for name in names:
        mask |= bits.get(name, 0)
    return mask


def _followed(reached: _Reached) -> Taken:
    taken: Taken = {}
    while reached.way is not None:
        group, at, reached = reached.way
        taken[group] = at
    return taken


def _greedily(groups: Groups, wanted: frozenset[str], room: int, taken: Taken) -> Taken:
    """More choices, always the one that covers the most new names per token."""
    taken = dict(taken)
    shown = {name for group, at in taken.items() for name in groups[group][at].names}
    room -= sum(groups[group][at].tokens for group, at in taken.items())
    while True:
        best: tuple[float, int, int, int] | None = None
        for group, choices in groups.items():
            now = choices[taken[group]] if group in taken else Choice(0, frozenset())
            for at, (tokens, names) in enumerate(choices):
                fresh, extra = len((names & wanted) - shown), tokens - now.tokens
                if fresh and extra <= room and now.names <= names:
                    step = (fresh / max(extra, 1), -extra, group, at)
                    best = step if best is None or step > best else best
        if best is None:
            return taken
        _, minus, group, at = best
        room += minus
        taken[group] = at
        shown |= groups[group][at].names
