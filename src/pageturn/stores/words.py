"""Splits text into search terms: whole identifiers and their parts, and pairs of characters in scripts without spaces.

The index splits at everything that is not a letter or a digit, so `src/auth/login.py` and `snake_case` are found by their parts, and
as a whole by the phrase of their parts. Only the parts of CamelCase would be missed, so they are added. A query searches for a name as
a whole, and for its parts only if the whole name is nowhere.

Chinese and Japanese have no spaces between words, and Korean adds endings to words. For a run of their characters the index has every
pair of neighbours, and the last character by itself, so that a single character is found as the beginning of a pair.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice

from pageturn.values.text_pieces import pieces

_MOST_TERMS = 64
_LONGEST_TERM = 120  # characters
# A capital inside a word; most texts have none, which is checked quickly.
_SEAM = re.compile(r"[A-Z](?<=[A-Za-z0-9][A-Z])")
_RUN = re.compile(r"[A-Za-z0-9]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_WORD = re.compile(r"\w[\w./:@-]*\w|\w")
# Kana, Han and Hangul: written without spaces, or with endings.
_UNSPACED_RANGES = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
_UNSPACED = re.compile(f"[{_UNSPACED_RANGES}]")
_UNSPACED_RUN = re.compile(f"([{_UNSPACED_RANGES}]+)")
_MIXED_RUN = re.compile(r"\w+")


def hidden_parts(text: str) -> str:
    """What the index has of a text besides its words: the parts of CamelCase, and pairs of characters."""
    return " ".join(filter(None, (_camel_parts(text), _pairs_of(text))))


def _pairs_of(text: str) -> str:
    """The pairs of neighbours in scripts without spaces, and adjacent text in other scripts."""
    if text.isascii() or _UNSPACED.search(text) is None:
        return ""
    return " ".join(part for run in _MIXED_RUN.findall(text) for part in _pieces(run, also_last=True))


def _pieces(run: str, *, also_last: bool) -> Iterator[str]:
    """The pairs in the runs of such characters in a word, and the rest of the word unchanged."""
    for piece in filter(None, _UNSPACED_RUN.split(run)):
        if _UNSPACED.match(piece) is None:
            yield piece
            continue
        yield from (piece[at : at + 2] for at in range(len(piece) - 1))
        if also_last or len(piece) == 1:
            yield piece[-1]


def is_beginning(term: str) -> bool:
    """Whether a term is a single character of a script without spaces, which is searched for as the beginning of a pair."""
    return len(term) == 1 and _UNSPACED.match(term) is not None


def _camel_parts(text: str) -> str:
    if _SEAM.search(text) is None:
        return ""
    words = (word for piece in pieces(text) for word in dict.fromkeys(_RUN.findall(piece)))
    # Anything longer is encoded data. Only shorter ones are cached: a long text has very many different words.
    mixed = dict.fromkeys(word for word in words if len(word) <= _LONGEST_TERM and _is_mixed(word))
    return " ".join(dict.fromkeys(part for word in mixed for part in _PART.findall(word)))


def _is_mixed(word: str) -> bool:
    rest = word[1:]
    return rest != rest.lower() and word != word.upper()


_STOPWORDS = frozenset(
    "a an and are as at be but by did do does for from had has have how i if in into is it its of on or that the their"
    " then there these they this to was we were what when where which who why will with you your".split()
)
# Words of a question that hardly say what it is about. They count if the question has no others.
_ASKING = frozenset(
    "about across again all also am any aspect aspects been before being bring brought can chat chats comprehensive conversation"
    " conversations could different discuss discussed discussion each earlier ever few give he help her here him his item items"
    " just list many may me mention mentioned might mine more most much must my no not only order ordered other our ours overview own"
    " please previously recall recommend recommended remember remind said same say session sessions shall she should show so some"
    " such suggest summarise summarize summary talk talked tell than them through throughout too us various very walk would".split()
)
_BETWEEN = re.compile(r"[\W_]")
COMMON = 2_000  # a term in more of the searched passages than this is dropped if the query has rarer ones
_WHOLE_NAME = 3  # the weight of a name found as a whole: a path is more specific than its words


def terms(query: str) -> list[str]:
    """The terms of a query, each to be matched as a phrase of its parts; stop words are left out.

    A path is searched for as a whole and by its last part. A query may be a whole file: only a limited number of its terms, from its
    beginning, are used.
    """
    words = (found[0][:_LONGEST_TERM] for found in _WORD.finditer(query))
    names = (name if _is_mixed(name) else name.lower() for word in words for name in _names(word))
    said = dict.fromkeys(name for name in names if name.lower() not in _STOPWORDS)
    distinctive = [word for word in said if word.lower() not in _ASKING]
    return list(islice(distinctive or said, _MOST_TERMS))


def _names(word: str) -> tuple[str, ...]:
    if _UNSPACED.search(word) is not None:
        return tuple(_pieces(word, also_last=False))
    last = word.rpartition("/")[2]
    return (word, last) if last not in ("", word) else (word,)


def weight_of(term: str) -> int:
    """The weight of a term; 1 for a plain word."""
    return _WHOLE_NAME if _is_name(term) else 1


def parts_of(term: str) -> list[str]:
    """The words in a name; none for a plain word."""
    if not _is_name(term):
        return []
    runs = (run for run in _BETWEEN.split(term) if run)
    parts = (part for run in runs for part in (_PART.findall(run) if _is_mixed(run) else [run]))
    return [part for part in dict.fromkeys(part.lower() for part in parts) if part not in _STOPWORDS]


def candidates(query: str) -> list[str]:
    """All words that a search for this query may come to ask for: its terms, and the parts of each."""
    return [*dict.fromkeys(word for term in terms(query) for word in (term, *parts_of(term)))]


def searched_words(query: str, count: Callable[[str], int], *, every: bool) -> dict[str, int]:
    """The words to search for with their weights; `count` says how many of the searched passages have a word.

    A name that occurs nowhere as a whole is searched for by its parts. `every` keeps words that very many passages contain even if
    there are rarer ones.
    """
    asked: dict[str, int] = {}
    counts: dict[str, int] = {}
    for term in terms(query):
        for word in (term, *parts_of(term)):
            if word in counts:
                continue
            counts[word] = count(word)
            asked[word] = weight_of(word)
            if word == term and counts[word]:
                break
    rare = {word: times for word, times in asked.items() if 0 < counts[word] <= COMMON}
    return asked if every else rare or asked


def in_parts(query: str) -> str:
    """A query for the parts of its names instead of the names."""
    return " ".join(part for term in terms(query) for part in parts_of(term) or (term,))


def _is_name(term: str) -> bool:
    return _BETWEEN.search(term) is not None or _is_mixed(term)
