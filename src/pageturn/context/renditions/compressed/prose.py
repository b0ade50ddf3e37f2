"""Outlines prose: its beginning and end, and the sentences with rare words."""

import re
from collections import Counter
from itertools import chain

from pageturn.context.renditions.contract import Line, Material

_END = re.compile(r"\s(?<=[.!?]\s)\s*(?=[A-Z\"'(])")
_WORD = re.compile(r"[^\W\d_]{4,}")
_ASCII_WORD = re.compile(r"[a-z]{4,}")  # several times as fast, if the pattern allows it
_LONGEST = 600  # a longer sentence is cut into lines


def outline(material: Material) -> list[Line]:
    """The sentences; a sentence with more of the text's rare words has more weight."""
    sentences = [
        piece[start : start + _LONGEST]
        for line in material.text.splitlines()
        for piece in (_END.split(line) if line.strip() else [])
        for start in range(0, len(piece), _LONGEST)
    ]
    find = (_ASCII_WORD if material.text.isascii() else _WORD).findall
    words = [find(sentence.lower()) for sentence in sentences]
    different = [set(each) for each in words]
    often = Counter(chain.from_iterable(different))
    elsewhere = [sum(map(often.__getitem__, each)) - len(each) for each in different]
    weights = [times / (len(each) + 5) for times, each in zip(elsewhere, words, strict=True)]
    most = max(weights, default=0.0) or 1.0
    lines = list(map(Line, sentences, (0.1 + weight / most for weight in weights)))
    for at in {0, len(lines) - 1} & set(range(len(lines))):
        lines[at] = lines[at]._replace(weight=2.0)
    return lines
