"""What each turn of a session took and cost, compared with sending everything and with a rolling trim.

What was sent comes from the provider's usage, and where there is none from an estimate by our count. The two others are
estimates from the sizes of the pages: everything grows at its end, so that the cache has all of the request before; a trim keeps the
instructions and the newest messages that fit, as `pageturn.lab.baselines.keep_last` does, so that its cache ends where it cuts.
Costs are in tokens of fresh input, which a known price makes dollars.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from pageturn.apps.inspector.history import History, Taken
from pageturn.apps.inspector.rolling_trim import trimmed
from pageturn.apps.overview.dollars import price_for
from pageturn.apps.overview.facts import model_of
from pageturn.tokens.calibration import Calibration
from pageturn.values.pages import Page
from pageturn.values.usage import Usage
from pageturn.values.vendors import Vendor, profile_of

_MICROS = 1_000_000
_COMPACTED = 0.7  # of the largest request so far: what is smaller than that left something out
_AS_COUNTED = Calibration()


class Bill(NamedTuple):
    """One request: its tokens by what the provider does with them, and its cost in tokens of fresh input."""

    fresh: int
    cached: int
    written: int
    output: int
    cost: float

    @property
    def input(self) -> int:
        """All that went in."""
        return self.fresh + self.cached + self.written


class Bills(NamedTuple):
    """The requests of a session as they were, and as they would have been."""

    sent: tuple[Bill, ...]
    is_reported: tuple[bool, ...]  # by the provider, or else estimated
    everything: tuple[Bill, ...]
    trim: tuple[Bill, ...]


def vendor_for(model: str) -> Vendor:
    """How a model is billed relative to fresh input: by its list price, or else by its vendor's rule."""
    price = price_for(model)
    return price.vendor() if price is not None else profile_of(model).billing


def bills_of(history: History, trim_tokens: int, vendor: Vendor | None = None) -> Bills:
    """The bills of every turn, by the rules of the session's model unless others are given."""
    model = model_of(history.journal)
    vendor = vendor or vendor_for(model)
    pages = [page for page in history.journal.state.pages if page.counts]
    turns = history.turns
    places = _places(pages, turns)
    sizes = [page.tokens for page in pages]
    sums = [0, *accumulate(sizes)]
    fixed = _fixed_tokens(turns, places, sums)
    whole = [before + sums[place] for before, place in zip(fixed, places, strict=True)]
    scale = _scale(turns, whole)
    outputs = [_output(history, taken) for taken in turns]
    colds = _colds(history, turns, vendor)
    everything, before = [], 0
    for tokens, output, is_cold in zip(whole, outputs, colds, strict=True):
        read = 0 if is_cold else vendor.kept(before)
        everything.append(_billed(scale, vendor, tokens, read, output))
        before = tokens
    trim = []
    for request, output, is_cold in zip(trimmed(pages, places, fixed, trim_tokens), outputs, colds, strict=True):
        read = vendor.kept(0 if is_cold else min(request.shared, request.tokens))
        trim.append(_billed(scale, vendor, request.tokens, read, output))
    sent = tuple(
        _reported(vendor, taken.usage, model) if taken.usage is not None else estimate
        for taken, estimate in zip(
            turns, _estimated(turns, places, sums, everything, colds=colds, vendor=vendor), strict=True
        )
    )
    return Bills(sent, tuple(taken.usage is not None for taken in turns), tuple(everything), tuple(trim))


def _places(pages: Sequence[Page], turns: Sequence[Taken]) -> list[int]:
    """How many pages came before each answer."""
    places, at = [], 0
    for taken in turns:
        while at < len(pages) and pages[at].seq < taken.page:
            at += 1
        places.append(at)
    return places


def _fixed_tokens(turns: Sequence[Taken], places: Sequence[int], sums: Sequence[int]) -> list[int]:
    """The tokens of tools and notes besides the pages, as far as contexts show them that were never folded."""
    fixed, known, is_folded = [], 0, False
    for taken, place in zip(turns, places, strict=True):
        is_folded = is_folded or (taken.shown is not None and taken.shown.fold is not None)
        if taken.shown is not None and not is_folded:
            known = max(0, taken.shown.tokens - sums[place])
        fixed.append(known)
    return fixed


def _scale(turns: Sequence[Taken], whole: Sequence[int]) -> Calibration:
    """How the provider counts, by what it reported of requests that are known: derived ones, or all of a history that was not compacted yet."""
    scale, most = Calibration(), 0
    for taken, tokens in zip(turns, whole, strict=True):
        counted = taken.shown.tokens if taken.shown is not None else tokens
        reported = taken.usage.input_tokens if taken.usage is not None else 0
        if taken.shown is None and reported and reported < _COMPACTED * most:
            break  # its client sends less than all from here on
        most = max(most, reported)
        if counted and reported:
            scale = scale.observe(counted=counted, reported=reported)
    return scale


def _output(history: History, taken: Taken) -> int:
    if taken.usage is not None:
        return taken.usage.output_tokens
    page = history.journal.state.page(taken.page)
    return page.tokens if page is not None else 0


def _colds(history: History, turns: Sequence[Taken], vendor: Vendor) -> list[bool]:
    """Whether so much time passed before each turn that the provider's cache was gone."""
    pages = (history.journal.state.page(taken.page) for taken in turns)
    times = [history.time_of(page) if page is not None else 0 for page in pages]
    ttl = vendor.ttl_seconds
    pauses = [now - then for then, now in zip([*times[:1], *times], times, strict=False)]
    return [ttl is not None and pause > ttl * _MICROS for pause in pauses]


def _estimated(
    turns: Sequence[Taken],
    places: Sequence[int],
    sums: Sequence[int],
    everything: Sequence[Bill],
    *,
    colds: Sequence[bool],
    vendor: Vendor,
) -> list[Bill]:
    """What a provider would have reported: of a context that is not folded, the cache has the one before."""
    estimates, before, upto = [], 0, 0
    for at, (taken, place) in enumerate(zip(turns, places, strict=True)):
        shown = taken.shown
        if shown is None:
            estimates.append(everything[at])
            before = everything[at].input
            upto = place
            continue
        read = before
        if shown.fold is not None:
            rewritten = shown.fold.cost.rewritten_tokens if shown.fold.cost is not None else shown.tokens
            read = shown.tokens - rewritten - (sums[place] - sums[upto])
        read = 0 if colds[at] or not at else vendor.kept(max(0, min(read, shown.tokens)))
        estimates.append(_billed(_AS_COUNTED, vendor, shown.tokens, read, everything[at].output))
        before, upto = shown.tokens, place
    return estimates


def _reported(vendor: Vendor, usage: Usage, model: str) -> Bill:
    """A request as the provider counted it; where another model than the session's answered, at that one's price."""
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    fresh = max(0, usage.input_tokens - read - written)
    cost = _cost(vendor, fresh, read, written, usage.output_tokens)
    own, base = price_for(usage.model or model), price_for(model)
    if own is not None and base is not None and own != base:
        cost = round(own.dollars(usage) / base.of_input(1), 1)
    return Bill(fresh, read, written, usage.output_tokens, cost)


def _billed(scale: Calibration, vendor: Vendor, tokens: int, read: int, output: int) -> Bill:
    """A request of which the cache has a part; what it has not is written to it, where that has a price of its own."""
    total, cached = scale.expected(tokens), scale.expected(read) if read else 0
    fresh, written = (0, total - cached) if vendor.prices.write > 1 else (total - cached, 0)
    return Bill(fresh, cached, written, output, _cost(vendor, fresh, cached, written, output))


def _cost(vendor: Vendor, fresh: int, cached: int, written: int, output: int) -> float:
    prices = vendor.prices
    return round(fresh + prices.read * cached + prices.write * written + vendor.output * output, 1)
