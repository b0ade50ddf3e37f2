"""Prose: its first and last words, and the sentences that say what is rare in the text."""

import re
from collections import Counter

from pageturn.renditions.contract import Line, Material

_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
_WORD = re.compile(r"[^\W\d_]{4,}")
_LONGEST = 600  # a sentence that is longer is cut into lines


def outline(material: Material) -> list[Line]:
    """The sentences, the more of the text's own subject each has, the weightier."""
    sentences = [
        piece[start : start + _LONGEST]
        for line in material.text.splitlines()
        for piece in (_END.split(line) if line.strip() else [])
        for start in range(0, len(piece), _LONGEST)
    ]
    words = [_WORD.findall(sentence.lower()) for sentence in sentences]
    often = Counter(word for each in words for word in set(each))
    weights = [sum(often[word] - 1 for word in set(each)) / (len(each) + 5) for each in words]
    most = max(weights, default=0.0) or 1.0
    lines = [Line(sentence, 0.1 + weight / most) for sentence, weight in zip(sentences, weights, strict=True)]
    for at in {0, len(lines) - 1} & set(range(len(lines))):
        lines[at] = lines[at]._replace(weight=2.0)
    return lines
