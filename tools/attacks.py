"""Attacks: texts that may make a regular expression take long, made from the expression itself.

Backtracking costs where a repetition can take what it repeats in more than one way, or begin at every place of a long run and fail at its
end. So every repetition is pumped with what it repeats, behind what the expression wants before it, and before something that does not fit.
"""

import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

Attack = tuple[str, str, str]

_ENDS = ("", "\0", " x", "\n", "!")
_COMMON = (
    "a",
    "A",
    "1",
    "_",
    " ",
    "\t",
    "\n",
    "\r",
    ".",
    "/",
    "-",
    ":",
    "\\",
    "a.",
    "a/",
    "a-",
    "1,",
    "aA",
    "a1",
    "a ",
    "\r\n",
)
_MOST = 14  # letters of one class, and texts of one part, that are tried
_CLASSES = {
    codes.CATEGORY_DIGIT: "1",
    codes.CATEGORY_NOT_DIGIT: "a ",
    codes.CATEGORY_SPACE: " \n",
    codes.CATEGORY_NOT_SPACE: "a1/",
    codes.CATEGORY_WORD: "a1_A",
    codes.CATEGORY_NOT_WORD: " -",
}
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def attacks(pattern: str, flags: int) -> Iterator[Attack]:
    """Beginnings, what is repeated, and ends."""
    seen: set[Attack] = set()
    for attack in _all(pattern, flags):
        if attack[1] and attack not in seen:
            seen.add(attack)
            yield attack


def _all(pattern: str, flags: int) -> Iterator[Attack]:
    for pumped in _COMMON:
        yield from (("", pumped, end) for end in _ENDS)
    try:
        tree = parser.parse(pattern, flags & ~re.DEBUG)
    except re.error:
        return
    whole = _texts(tree)
    for pumped in whole:
        yield from (("", pumped, end) for end in _ENDS)
        yield from (("", pumped[:cut], end) for cut in range(1, len(pumped)) for end in _ENDS[:2])
    for before, body in _repetitions(tree, [""]):
        for pumped in body:
            for start in dict.fromkeys(("", *before[:3])):
                yield from ((start, pumped, end) for end in _ENDS)


def _repetitions(tree: Any, before: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Every repetition: texts that may stand before it, and texts that it repeats."""
    for code, value in tree:
        if code in _REPEATS:
            _, most, inner = value
            if most > 8:
                yield before, _texts(inner)
            yield from _repetitions(inner, before)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _repetitions(branch, before)
        elif code is codes.SUBPATTERN:
            yield from _repetitions(value[-1], before)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _repetitions(value[1], before)
        elif code is codes.ATOMIC_GROUP:
            yield from _repetitions(value, before)
        told = _of((code, value))
        before = [start + text for start in before for text in told[:2]][:4] or before


def _texts(tree: Any) -> list[str]:
    """Some texts that a part of an expression matches, or nearly."""
    texts = [""]
    for node in tree:
        texts = [text + more for text in texts for more in _of(node)][:_MOST] or texts
    return texts


def _of(node: tuple[Any, Any]) -> list[str]:
    code, value = node
    if code is codes.LITERAL:
        return [chr(value)]
    if code is codes.NOT_LITERAL:
        return ["a" if value != ord("a") else "b"]
    if code is codes.ANY:
        return ["a", " "]
    if code is codes.IN:
        return _letters(value)
    if code is codes.BRANCH:
        return [text for branch in value[1] for text in _texts(branch)[:3]][:_MOST]
    if code is codes.SUBPATTERN:
        return _texts(value[-1])
    if code is codes.ATOMIC_GROUP:
        return _texts(value)
    if code in _REPEATS:
        least, _, inner = value
        return [text * max(1, min(least, 40)) for text in _texts(inner)]
    return [""]


def _letters(items: Any) -> list[str]:
    """Some letters of a class, those at its ends first."""
    letters: list[str] = []
    is_negated = False
    for code, value in items:
        if code is codes.NEGATE:
            is_negated = True
        elif code is codes.LITERAL:
            letters.append(chr(value))
        elif code is codes.RANGE:
            letters += [chr(value[0]), chr(value[1])]
        elif code is codes.CATEGORY:
            letters += _CLASSES.get(value, "a")
    if is_negated:
        return [letter for letter in "a 1/.-\t\n" if letter not in letters][:_MOST]
    return letters[:_MOST]
