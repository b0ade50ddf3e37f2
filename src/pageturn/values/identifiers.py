"""Finds identifiers in text: names that a later call may use again, with what a session knows about each.

A name is a path, an id, a significant number, or a word in snake_case or camelCase. Texts are split into runs of letters first, so
that the time is linear in any text; each distinct run is examined once.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import exp
from typing import NamedTuple

from pageturn.values.messages import Message, Role
from pageturn.values.search_text import search_text
from pageturn.values.text_pieces import pieces

_LONGEST_RUN = 400  # anything longer is encoded data
# [w] and [d] stand for letters and digits. A match that starts at a word covers the whole word, whichever alternative matches.
_NAME = r"""
    (?:[w.@~-]*+/)+[w.@-]+\.[w]{1,8}                                # a path with an extension
  | \b(?: [a-z]++ (?: (?:_[a-z0-9]++)++ | (?:[A-Z][a-z0-9]++)++ )  # snake_case, camelCase
        | (?:[A-Z][a-z0-9]+){2,}
        | [0-9a-f]{7,40}                                           # a hexadecimal id
        | [A-Z]{2,}-[d]+
        | [w]*[d]{4,}[w]* ) \b
  | \#[w]*[d]{3,}\b
"""


def _compiled(pattern: str, letters: str, digits: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("[w", f"[{letters}").replace("[d", f"[{digits}"), re.VERBOSE)


def _for_text(pattern: str) -> re.Pattern[str]:
    return _compiled(pattern, r"\w", r"\d")


def _for_ascii(pattern: str) -> re.Pattern[str]:
    """The same pattern for ASCII, which takes half the time."""
    return _compiled(pattern, "A-Za-z0-9_", "0-9")


_RUN = _for_text(r"[w.@~/\#-]{5,}+")
_NAME_OR_END = rf"({_NAME} | \n) | [w]+"  # of runs, one per line; no name begins inside a word
_NAMES_OF_RUNS = _for_text(_NAME_OR_END)
_ASCII_NAMES_OF_RUNS = _for_ascii(_NAME_OR_END)
_BETWEEN_RUNS = {code: " " for code in range(128) if not _RUN.fullmatch(chr(code) * 5)}
_NUMBER = re.compile(r"\d+")
_ZEROS = str.maketrans("123456789", "000000000")
_SHORTEST, _SHORTEST_OF_LETTERS, _LONGEST = 5, 7, 160


@lru_cache(maxsize=8)  # the levels of one page ask in a row
def names_in(text: str) -> Mapping[str, int]:
    """The names in a text with their counts, in the order of first occurrence."""
    every: Counter[str] = Counter()
    is_ascii = text.replace("→", " ").isascii()
    for piece in pieces(text):
        plain = piece.replace("→", " ")  # after line numbers, and often the only non-ASCII character
        every.update(plain.translate(_BETWEEN_RUNS).split() if is_ascii else _RUN.findall(plain))
    runs = {run: times for run, times in every.items() if _SHORTEST <= len(run) <= _LONGEST_RUN}
    names: dict[str, int] = {}
    often = iter(runs.values())
    times = next(often, 0)
    for name in (_ASCII_NAMES_OF_RUNS if is_ascii else _NAMES_OF_RUNS).findall("\n".join(runs)):
        if name == "\n":
            times = next(often)
        elif _SHORTEST_OF_LETTERS <= len(name) <= _LONGEST or is_of_length(name):
            names[name] = names.get(name, 0) + times
    return names


def is_of_length(name: str) -> bool:
    """Whether something that looks like a name is neither too short nor too long for one."""
    length = len(name)
    return _SHORTEST <= length <= _LONGEST and (length >= _SHORTEST_OF_LETTERS or not name.isalpha())


def without_numbers(text: str) -> str:
    """The text with 0 for every number, so that texts that differ only in numbers become equal."""
    if not text.isascii():
        return _NUMBER.sub("0", text)
    text = text.translate(_ZEROS)
    while "00" in text:
        text = text.replace("00", "0")
    return text


class Heard(NamedTuple):
    """The names of one message: all of them, those in its calls, and those that a person asks about."""

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
    """What a session has said so far: on how many pages each name occurs, and who used it when."""

    def __init__(self) -> None:
        self._pages: Counter[str] = Counter()
        self._called: dict[str, int] = {}  # the last page on which a call used it
        self._wanted: set[str] = set()  # what a person mentioned
        self._heard = 0
        self._ranked: dict[str, list[str]] = {}  # the names of texts that were asked about since

    def hear(self, message: Message) -> None:
        """Add one more message."""
        self.take(Heard.of(message))

    def take(self, heard: "Heard") -> None:
        """Add the names of one more message."""
        self._heard += 1
        self._ranked.clear()
        self._pages.update(heard.names)
        self._called |= dict.fromkeys(heard.called, self._heard)
        self._wanted.update(heard.wanted)

    def weight(self, name: str, times: int = 1) -> float:
        """How likely a name of this frequency on a page is to be used again, relative to others.

        Fitted on recorded sessions: a name that a call used lately is used again seven times as often as a new one, and numbers and
        digests hardly ever are.
        """
        return self._said(name) * _kind_weight(name) * _OFTEN.get(times, _MOST_OFTEN)

    def ranked(self, text: str) -> Sequence[str]:
        """The names of a text, the most valuable for its length first; of names that differ only in a number, the first.

        The levels of a page ask in a row, so the answer is cached until the next message.
        """
        if text not in self._ranked:
            self._ranked[text] = self._rank(names_in(text))
        return self._ranked[text]

    def _rank(self, names: Mapping[str, int]) -> list[str]:
        known = names.keys() & self._pages.keys() | names.keys() & self._called.keys() | names.keys() & self._wanted
        shapes = without_numbers("\n".join(names)).split("\n")
        kinds = {shape: _kind_weight(shape) for shape in dict.fromkeys(shapes)}
        series = dict.fromkeys(kinds, 0)  # how many names of a shape there were
        worth: dict[str, float] = {}
        for (name, times), shape in zip(names.items(), shapes, strict=False):
            series[shape] = nth = series[shape] + 1
            weight = self.weight(name, times) if name in known else kinds[shape] * _OFTEN.get(times, _MOST_OFTEN)
            worth[name] = weight / (len(name) + 4) / nth
        return sorted(names, key=worth.__getitem__, reverse=True)

    def _said(self, name: str) -> float:
        """The weight of a name, by who else used it."""
        weight = 1.6 if name in self._pages else 1.0
        called = self._called.get(name)
        if called is not None:
            weight += 5 * exp((called - self._heard) / _FADES)
        return weight * 1.7 if name in self._wanted else weight


_FADES = 40  # pages
_OFTEN = {times: 1 + 0.2 * times for times in range(1, 5)}
_MOST_OFTEN = 2.0


def _kind_weight(name: str) -> float:
    if name.isalpha():
        return 1.0
    if "_" in name or "/" in name:
        return 0.7
    return 0.2 if name.isdigit() else 0.4
