"""A true prefix cache, and the bill: what a provider reads from its cache, writes to it, and reads afresh.

Anthropic's goes by block: a prefix is kept where a breakpoint stands, for five minutes or an hour, and a breakpoint finds what was kept
up to twenty blocks before it. OpenAI's is automatic, in steps of 128 tokens. Neither keeps less than 1,024.
"""

import hashlib
from collections.abc import Callable, Sequence
from time import monotonic
from typing import NamedTuple

from tests.clients.views import Used
from tests.clients.wires.parts import Unit

LEAST = 1_024
_STEP = 128
_LOOKS_BACK = 20
_SECONDS = {"5m": 300.0, "1h": 3_600.0}
_CHARS = 4  # of a token: all that counts here is that everybody is billed by the same


class Price(NamedTuple):
    """Dollars for a million tokens."""

    plain: float
    read: float
    written: float
    written_for_long: float
    output: float

    def of(self, used: Used) -> float:
        parts = zip(self, (used.plain, used.read, used.written, used.written_for_long, used.output), strict=True)
        return sum(price * tokens for price, tokens in parts) / 1e6


ANTHROPIC = Price(5.0, 0.5, 6.25, 10.0, 25.0)  # as Opus is priced
OPENAI = Price(1.25, 0.125, 1.25, 1.25, 10.0)


def tokens(text: str) -> int:
    return -(-len(text) // _CHARS)


class Cache:
    """What one provider has kept, for all models and accounts apart."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def marked(self, scope: str, units: Sequence[Unit]) -> Used:
        """What a request takes where prefixes are kept at breakpoints."""
        ends, links = [0], [_link(scope, "")]
        for unit in units:
            ends.append(ends[-1] + tokens(unit.content))
            links.append(_link(links[-1], unit.content))
        marks = [(at + 1, unit.mark) for at, unit in enumerate(units) if unit.mark and ends[at + 1] >= LEAST]
        found = (
            place
            for mark, _ in reversed(marks)
            for place in range(mark, max(mark - _LOOKS_BACK, 0), -1)
            if self._has(links[place])
        )
        known = next(found, 0)
        if known:
            self._until[links[known]] = max(self._until[links[known]], self._clock() + _SECONDS["5m"])
        taken, written = known, {"5m": 0, "1h": 0}
        for place, ttl in marks:
            self._until[links[place]] = max(self._until.get(links[place], 0.0), self._clock() + _SECONDS[ttl])
            if place > taken:
                written[ttl] += ends[place] - ends[taken]
                taken = place
        return Used(ends[-1] - ends[taken], ends[known], written["5m"], written["1h"])

    def automatic(self, scope: str, units: Sequence[Unit]) -> Used:
        """What a request takes where every prefix is kept."""
        text = "".join(unit.content for unit in units)
        size = _STEP * _CHARS
        link, known, is_known = _link(scope, ""), 0, True
        for at in range(size, len(text) + 1, size):
            link = _link(link, text[at - size : at])
            is_known = is_known and self._has(link)
            known = at if is_known else known
            self._until[link] = self._clock() + _SECONDS["5m"]
        read = known // _CHARS if known // _CHARS >= LEAST else 0
        return Used(tokens(text) - read, read, 0, 0)

    def _has(self, link: str) -> bool:
        return self._until.get(link, -1.0) > self._clock()


def _link(before: str, content: str) -> str:
    return hashlib.blake2b(f"{before}\0{content}".encode(), digest_size=16).hexdigest()
