"""Chooses the names of a text that are kept when the text itself is not shown."""

from pageturn.values.identifiers import Vocabulary, names_in


def choose_names(text: str, vocabulary: Vocabulary, room: int, *, shown: str = "") -> list[str]:
    """Names of a text that fit into `room` characters, those most likely to be used again first.

    A name in `shown`, by itself or as a part of a path, is not repeated.
    """
    known = {*names_in(shown), *_parts("\n".join(names_in(shown)))}
    ranked = vocabulary.ranked(text)
    shortest = min(map(len, ranked), default=0)
    chosen: list[str] = []
    for name in ranked:
        if room <= shortest:
            break
        if len(name) < room and name not in known:
            chosen.append(name)
            room -= len(name) + 1
            if "/" in name or "." in name:
                known.update(_parts(name))
    return chosen


def _parts(names: str) -> list[str]:
    """The parts of paths."""
    return names.replace("/", "\n").replace(".", "\n").split("\n")
