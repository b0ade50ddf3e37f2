"""Finds the part of a text that answers a query, and shows it with its surroundings."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pageturn.stores.words import parts_of, terms
from pageturn.values.passages import Passage, passage_at, passages_of

_MOST = 300  # characters of an excerpt
_LONGEST_LOOKED_AT = 200_000  # characters of a text that are searched for the best passage
_PIECE = 100_000  # characters whose bytes are counted at a time
_END_OF_SENTENCE = re.compile(r"[.!?]\s|\n")


class Excerpt(NamedTuple):
    """A part of a text, and the byte at which it begins."""

    text: str
    start: int


def excerpt(text: str, query: str, passage: int | None = None) -> Excerpt:
    """The sentence of a text that contains most of the query, with as many of its neighbours as there is room for.

    `passage` is the number of the passage that was found; without it, the best one is used.
    """
    words = _Sought(query)
    cut = passage_at(text, passage) if passage is not None else words.best_passage(text)
    start = cut.start + words.best_sentence(text[cut.start : cut.end])
    start = max(0, start - _MOST // 3)
    if start:
        start = _after_blank(text, start)
    end = min(len(text), start + _MOST)
    shown = " ".join(text[start:end].split())
    begins = (
        start
        if text.isascii()
        else sum(len(text[at : min(at + _PIECE, start)].encode()) for at in range(0, start, _PIECE))
    )
    return Excerpt(f"{'... ' if start else ''}{shown}{' ...' if end < len(text) else ''}", begins)


class _Sought:
    """The words of a query, each counted once where it occurs."""

    def __init__(self, query: str) -> None:
        every = dict.fromkeys(word.lower() for term in terms(query) for word in (term, *parts_of(term)))
        self._words = [_stem(word) for word in every]

    def best_passage(self, text: str) -> Passage:
        """The first of the passages with most of the words."""
        return max(
            passages_of(text[:_LONGEST_LOOKED_AT]),
            key=lambda cut: self._count(text[cut.start : cut.end]),
            default=Passage(0, 0),
        )

    def best_sentence(self, passage: str) -> int:
        """The position of the first of the sentences with most of the words."""
        best, place = 0, 0
        for start, sentence in _sentences(passage):
            if (count := self._count(sentence)) > best:
                best, place = count, start + self._first(sentence)
        return place

    def _count(self, text: str) -> int:
        said = text.lower()
        return sum(word in said for word in self._words)

    def _first(self, text: str) -> int:
        said = text.lower()
        places: Iterable[int] = (said.find(word) for word in self._words)
        return min((place for place in places if place >= 0), default=0)


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for end in (*(found.end() for found in _END_OF_SENTENCE.finditer(text)), len(text)):
        yield start, text[start:end]
        start = end


def _stem(word: str) -> str:
    """The beginning that most forms of a word share."""
    return word if len(word) < 6 or not word.isalpha() else word[:-2]


def _after_blank(text: str, at: int) -> int:
    """The next beginning of a word, if it is near."""
    blank = text.find(" ", at, at + 20)
    return blank + 1 if blank >= 0 else at
