"""Names: those of a text that are worth their room when the text itself is gone."""

import re

from pageturn.identifiers import Vocabulary, names_in

_SHORTEST = 5
_SEAMS = re.compile(r"[/.]")


def choose_names(text: str, vocabulary: Vocabulary, room: int, *, told: str = "") -> list[str]:
    """Names of a text that fit into so many characters, the likeliest to be named again first.

    A name that is told anyway, by itself or as a part of a path, is not told again.
    """
    told_already = {part for name in names_in(told) for part in (name, *_SEAMS.split(name))}
    worth = vocabulary.worth(text)
    chosen: list[str] = []
    for name in sorted(worth, key=worth.__getitem__, reverse=True):
        if room <= _SHORTEST:
            break
        if len(name) < room and name not in told_already:
            chosen.append(name)
            room -= len(name) + 1
            told_already.update((name, *_SEAMS.split(name)))
    return chosen
