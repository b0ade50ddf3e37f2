"""The worth of a unit: what it saves, in tokens of fresh input, by being shown until the next fold.

A later call that names or quotes something that is not shown costs one more call, which fetches it. So a unit is worth the expected
number of such calls times their cost. That number falls with the unit's age in turns, as (2 / (2 + age)) to the power 1.5, and grows
with its size.

Where the constants come from (`python -m benchmarks.rates` counts how often units of the tuning half are named and quoted, and prints both):
- counted there, and rounded: the fall with age, `QUOTED` of all but edited files, `NAMED` of files, `_EDITS`;
- chosen, where replays of that half had the lowest priced bill: `QUOTED` of edited files (counted: .25), `NAMED` of the rest (below the counts), both
  exponents of size (above what is likeliest), `_NAMES`, `_ALONE`, `SUPERSEDED`. A count says how often a unit is needed, and not yet whether it
  is worth its room: with the counts sessions cost more and quote less (decision 45);
- assumed: `FETCHED_TOKENS`, `_CALL_TOKENS`, `EDITED_NOW`, `_EDITS_KNOWN`, and what a level keeps (`_KEPT`).
"""

from math import sqrt
from typing import NamedTuple

from pageturn.policies.packing import Values
from pageturn.values.layout import About, Candidate, Frame, Why
from pageturn.values.pages import ResidencyLevel
from pageturn.values.vendors import IDEAL_CACHE

_FULL, _COMPRESSED, _STRUCTURED, _POINTER = ResidencyLevel
# The same prices for every model, so that a session folds in the same way wherever it is sent.
READ, WRITE = IDEAL_CACHE.prices.read, IDEAL_CACHE.prices.write
FETCHED_TOKENS = 8_000  # of a page that is fetched again, at most: no call reads more at once
_CALL_TOKENS = 1_500  # of the call that fetches: its output, and reading the prompt once more
_ALONE = 0.5  # of such a call, the share that one page with missed names saves: a call often fetches several
SIZE = 1_000  # tokens of the units that the rates are for
NAMED = {About.EDIT: 0.8, About.EDITED: 0.35, About.FILE: 0.65, About.OTHER: 0.3, About.PERSON: 0.005}
QUOTED = {About.EDIT: 0.13, About.EDITED: 0.15, About.FILE: 0.07, About.OTHER: 0.01, About.PERSON: 0.0}
_NAMES = 4.5  # as a multiple of its own names' worth, since a name is shown once, by one unit on behalf of all
NAMED_GROWS, QUOTED_GROWS = 0.4, 0.6  # exponents: how rates grow with size
SUPERSEDED = 0.4  # the share of its worth that a unit keeps if a newer one shows the same
EDITED_NOW = 2  # turns: the greatest age of a unit whose file was just changed, since its lines are quoted next
_EDITS = 0.2  # changes to files per turn, in the sessions that the rates of quotes are fitted on
_EDITS_KNOWN = 20  # turns that this counts for, in addition to those of the session itself
# By level: what is kept of what is named, and of what is quoted.
_KEPT = {
    _POINTER: (0.2, 0.0),
    _STRUCTURED: (0.95, 0.0),
    _COMPRESSED: (0.95, 0.1),
    _FULL: (1.0, 1.0),
}
_ALWAYS = 1e9  # rules and summaries: above anything else


class Valuation(NamedTuple):
    """Values units at one fold: by the turn, the turns until the next fold, and the price of a turn that misses."""

    turn: int
    turns: float
    miss_tokens: int
    quoting: float = 1.0  # how often this session quotes, relative to others
    naming: float = _NAMES

    @classmethod
    def of(cls, frame: Frame, turns: float, miss_tokens: int) -> "Valuation":
        """The valuation at a fold. A session that changes files more often than others also quotes more often."""
        near = [unit for unit in frame.candidates if unit.sizes]
        spanned = frame.turn + 1 - min((unit.turn for unit in near), default=frame.turn)
        edits = sum(unit.about is About.EDIT for unit in near)
        quoting = (edits + _EDITS * _EDITS_KNOWN) / (_EDITS * (spanned + _EDITS_KNOWN))
        return cls(frame.turn, turns, miss_tokens, quoting)

    @property
    def billed(self) -> "Valuation":
        """The same for what a provider will bill, without the price of a miss and by the rates alone."""
        return self._replace(miss_tokens=0, naming=1.0)

    def worth(self, unit: Candidate) -> Values:
        """What a unit saves at each level."""
        if unit.why is Why.RULE or unit.about is About.SUMMARY:
            return {level: _ALWAYS * (1 + at) for at, level in enumerate(_KEPT)}
        full = unit.sizes[_FULL]
        age = max(0, self.turn - unit.turn) if unit.tokens_after else 0
        since = min(age, EDITED_NOW) if unit.since_edit == 0 and not unit.is_superseded else age
        often = self._times(age)
        named = often * self.naming * NAMED[unit.about] * (full / SIZE) ** NAMED_GROWS
        quoted = (
            (often if since == age else self._times(since))
            * QUOTED[unit.about]
            * (full / SIZE) ** QUOTED_GROWS
            * self.quoting
        )
        fetching, call = WRITE * min(full, FETCHED_TOKENS), _CALL_TOKENS + self.miss_tokens
        named *= fetching + _ALONE * call
        quoted *= fetching + call
        needed = (SUPERSEDED if unit.is_superseded else 1.0) * (1 + unit.fetched)
        return {level: needed * (kept * named + whole * quoted) for level, (kept, whole) in _KEPT.items()}

    def _times(self, age: int) -> float:
        """How often something of an age is needed until the next fold, relative to its rate: the integral over the ages until then."""
        return 4 * sqrt(2) * (1 / sqrt(2 + age) - 1 / sqrt(2 + age + self.turns))
