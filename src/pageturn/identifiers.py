"""Identifiers: the names in a text that a later call may name again, and what a session knows about them.

A name is a path, an id, a number that means something, or a word in snake_case or camelCase. Texts are cut into runs of
letters first, so that the time is linear in the text whatever it holds, and runs repeat, so most are known already.
"""

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from math import exp
from typing import NamedTuple

from pageturn.bodies import search_text
from pageturn.messages import Message, Role

_RUN = re.compile(r"[\w.@~/#-]{5,}+")
_ASCII_RUN = re.compile(_RUN.pattern, re.ASCII)  # twice as fast, where it may be used
_LONGEST_RUN = 400  # what is longer is encoded data
NAME = re.compile(  # of text in which no run is long: over others it would take the square of the time
    r"""
    (?:[\w.@~-]*/)+[\w.@-]+\.\w{1,8}       # a path with an extension
  | \b[0-9a-f]{7,40}\b                     # a hexadecimal id
  | \b[A-Z]{2,}-\d+\b
  | \#\w*\d{3,}\b
  | \b\w*\d{4,}\w*\b
  | \b[a-z]+(?:_[a-z0-9]+)+\b
  | \b[a-z]+(?:[A-Z][a-z0-9]+)+\b
  | \b(?:[A-Z][a-z0-9]+){2,}\b
    """,
    re.VERBOSE,
)
_SHORTEST, _SHORTEST_OF_LETTERS, _LONGEST = 5, 7, 160


@lru_cache(maxsize=8)  # the levels of one page ask one after the other
def names_in(text: str) -> Mapping[str, int]:
    """The names of a text with how often each stands there, in the order in which they first do."""
    names: Counter[str] = Counter()
    plain = text.replace("→", " ")  # behind line numbers, and often the only letter that is not ASCII
    runs = (_ASCII_RUN if plain.isascii() else _RUN).findall(plain)
    for run, times in Counter(runs).items():
        for name in _names_of(run):
            names[name] += times
    return names


@lru_cache(maxsize=65_536)
def _names_of(run: str) -> tuple[str, ...]:
    if len(run) > _LONGEST_RUN:
        return ()
    return tuple(match[0] for match in NAME.finditer(run) if is_of_length(match[0]))


def is_of_length(name: str) -> bool:
    """Whether something that looks like a name is neither too short nor too long for one."""
    return (_SHORTEST_OF_LETTERS if name.isalpha() else _SHORTEST) <= len(name) <= _LONGEST


class Heard(NamedTuple):
    """The names of one message: all of them, those that its calls name, and those that a person wants something of."""

    names: tuple[str, ...]
    called: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()

    @classmethod
    def of(cls, message: Message) -> "Heard":
        """The names of a message."""
        called = tuple(name for call in message.tool_calls for name in names_in(call.texts))
        is_wish = message.role is Role.USER and not message.synthetic
        return cls(tuple(names_in(search_text(message))), called, tuple(names_in(message.text)) if is_wish else ())


class Vocabulary:
    """What a session has said so far: on how many pages each name stands, and who named it when."""

    def __init__(self) -> None:
        self._pages: Counter[str] = Counter()
        self._called: dict[str, int] = {}  # the page on which a call named it last
        self._wanted: set[str] = set()  # what a person named
        self._heard = 0
        self._worth: dict[str, dict[str, float]] = {}  # of texts that were asked about since

    def hear(self, message: Message) -> None:
        """Take in one more message."""
        self.take(Heard.of(message))

    def take(self, heard: "Heard") -> None:
        """Take in the names of one more message."""
        self._heard += 1
        self._worth.clear()
        self._pages.update(heard.names)
        self._called |= dict.fromkeys(heard.called, self._heard)
        self._wanted.update(heard.wanted)

    def weight(self, name: str, times: int = 1) -> float:
        """How likely a name that stands so often on a page is to be named again, relative to others.

        Fitted on recorded sessions: what a call named lately is named again seven times as often as what is new, and numbers
        and digests hardly ever are.
        """
        weight = 1.6 if name in self._pages else 1.0
        called = self._called.get(name)
        if called is not None:
            weight += 5 * exp((called - self._heard) / _FADES)
        if name in self._wanted:
            weight *= 1.7
        return weight * _kind_weight(name) * (1.2 if times == 1 else 1 + 0.2 * min(times, 5))

    def worth(self, text: str) -> Mapping[str, float]:
        """What each name of a text is worth for its length; of names that differ only in a number the first most.

        The levels of a page ask one after the other, so the answer is kept until somebody says something new.
        """
        if text not in self._worth:
            self._worth[text] = self._worth_in(text)
        return self._worth[text]

    def _worth_in(self, text: str) -> dict[str, float]:
        series: Counter[str] = Counter()
        worth: dict[str, float] = {}
        for name, times in names_in(text).items():
            value = self.weight(name, times) / (len(name) + 4)
            if not name.isalpha():
                shape = _DIGITS.sub("0", name)
                value /= 1 + series[shape]
                series[shape] += 1
            worth[name] = value
        return worth


_FADES = 40  # pages
_DIGITS = re.compile(r"\d+")


@lru_cache(maxsize=65_536)
def _kind_weight(name: str) -> float:
    if name.isdigit():
        return 0.2
    if "/" in name or "_" in name:
        return 0.7
    return 1.0 if name.isalpha() else 0.4
