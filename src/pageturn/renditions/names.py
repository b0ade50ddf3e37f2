"""Names: those of a text that are worth their room when the text itself is gone."""

import re
from collections import Counter

from pageturn.identifiers import Vocabulary, names_in

_SHORTEST = 5
_DIGITS = re.compile(r"\d+")


def choose_names(text: str, vocabulary: Vocabulary, room: int, *, told: str = "") -> list[str]:
    """Names of a text that fit into so many characters, the likeliest to be named again first.

    A name that stands in what is told anyway, or inside another name, is not told again.
    """
    worth = _worth(text, vocabulary)
    chosen: list[str] = []
    so_far = told
    for name in sorted(worth, key=lambda name: -worth[name]):
        if room <= _SHORTEST:
            break
        if len(name) + 1 > room or name in so_far:
            continue
        chosen.append(name)
        so_far += f" {name}"
        room -= len(name) + 1
    return chosen


def _worth(text: str, vocabulary: Vocabulary) -> dict[str, float]:
    """What each name is worth for its length; of names that differ only in a number, the first is worth the most."""
    series: Counter[str] = Counter()
    worth: dict[str, float] = {}
    for name, times in names_in(text).items():
        shape = name if name.isalpha() else _DIGITS.sub("0", name)
        worth[name] = vocabulary.weight(name, times) / (len(name) + 4) / (1 + series[shape])
        series[shape] += 1
    return worth
