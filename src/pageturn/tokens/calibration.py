"""Calibrates a session's token counts by the usage that its provider reports."""

from pageturn.values.errors import InvalidInput, show
from pageturn.values.json import Closed
from pageturn.values.usage import MOST_TOKENS

_FADE = 0.95  # the weight of a report when the next one arrives
_FLAT = 1e-3  # prompts whose sizes differ relatively less than this say nothing about the slope
_LEAST, _MOST = 0.5, 4.0  # no present tokenizer differs more from another


class Calibration(Closed):
    """What a session learns from reported usage: provider tokens = hidden + factor x our count.

    It keeps the sums of a weighted least-squares line; older reports fade, so the values of another model are forgotten.
    """

    weight: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0

    def observe(self, *, counted: int, reported: int) -> "Calibration":
        """The calibration after one more report for a prompt that we counted."""
        for name, tokens in (("counted", counted), ("reported", reported)):
            if type(tokens) is not int or not 0 < tokens < MOST_TOKENS:
                raise InvalidInput("$.usage", expected="token counts above 0", got=f"{show(tokens)} {name}")
        return Calibration(
            weight=_FADE * self.weight + 1.0,
            x=_FADE * self.x + counted,
            y=_FADE * self.y + reported,
            xx=_FADE * self.xx + counted * counted,
            xy=_FADE * self.xy + counted * reported,
        )

    @property
    def factor(self) -> float:
        """Provider tokens per token of ours, in hundredths so that it rarely changes."""
        if self.weight <= 0.0 or self.x <= 0.0:
            return 1.0
        spread = self.weight * self.xx - self.x * self.x
        if spread <= _FLAT * self.x * self.x:
            slope = self.y / self.x
        else:
            slope = (self.weight * self.xy - self.x * self.y) / spread
        return round(min(max(slope, _LEAST), _MOST), 2)

    @property
    def _hundredths(self) -> int:
        """The factor as a whole number, so that calculations with it are exact."""
        return round(100 * self.factor)

    @property
    def hidden_tokens(self) -> int:
        """What the provider adds to every prompt and we do not see: a system prompt or tools of a harness."""
        return max(0, round((self.y - self.factor * self.x) / self.weight)) if self.weight > 0.0 else 0

    def expected(self, counted: int) -> int:
        """What the provider will report for a prompt of this count."""
        return self.hidden_tokens - (-self._hundredths * counted // 100)

    def room(self, budget_tokens: int) -> int:
        """The largest count whose expected report stays within a budget."""
        return max(0, (budget_tokens - self.hidden_tokens) * 100 // self._hundredths)
