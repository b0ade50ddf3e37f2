"""The words of a text, for searching: whole identifiers and their parts.

The index cuts at everything that is not a letter or a digit, so `src/auth/login.py` and `snake_case` are found by part
anyway, and whole as the phrase of their parts. Only CamelCase hides its parts; they are added.
"""

import re
from itertools import islice

from pageturn.values.passages import passages

_MOST_TERMS = 64
_LONGEST_TERM = 120  # characters
_SEAM = re.compile(
    r"[A-Z](?<=[A-Za-z0-9][A-Z])"
)  # a capital inside a word; most texts have none, and that is soon said
_RUN = re.compile(r"[A-Za-z0-9]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_WORD = re.compile(r"\w[\w./:@-]*\w|\w")


def hidden_parts(text: str) -> str:
    """The parts of the CamelCase words of a text."""
    if _SEAM.search(text) is None:
        return ""
    words = (word for passage in passages(text) for word in dict.fromkeys(_RUN.findall(passage)))
    # What is longer is encoded data. Only the others are kept: a long text has very many different words.
    mixed = dict.fromkeys(word for word in words if len(word) <= _LONGEST_TERM and _is_mixed(word))
    return " ".join(dict.fromkeys(part for word in mixed for part in _PART.findall(word)))


def _is_mixed(word: str) -> bool:
    rest = word[1:]
    return rest != rest.lower() and word != word.upper()


_STOPWORDS = frozenset(
    "a an and are as at be but by did do does for from had has have how i if in into is it its of on or that the their"
    " then there these they this to was we were what when where which who why will with you your".split()
)


def terms(query: str) -> list[str]:
    """The terms of a query, each to be matched as a phrase of its parts; words that say nothing are left out.

    A query may be a whole file: of its terms the first so many count, and of a long one its beginning.
    """
    words = (found[0][:_LONGEST_TERM].lower() for found in _WORD.finditer(query))
    telling = dict.fromkeys(word for word in words if word not in _STOPWORDS)
    return list(islice(telling, _MOST_TERMS))
