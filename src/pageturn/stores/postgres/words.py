"""What the index has of a text, and what a query asks of it.

The text is cut into words here and not by PostgreSQL, whose parser would take a path or a version for one word; its dictionary then
reduces each word to its stem. The names of things are found as a phrase of their words, as in the index of a SQLite store.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from pageturn.stores.ports import Document
from pageturn.stores.words import hidden_parts
from pageturn.values.passages import passages_of

_CONFIGURATION = "'pageturn.words'::regconfig"
# Of a passage with the columns `text` and `parts`, in the session `number`. What is hidden in the text weighs less than what it says.
INDEXED = (
    f"setweight(to_tsvector({_CONFIGURATION}, text), 'A') || setweight(to_tsvector({_CONFIGURATION}, parts), 'D')"
    " || array_to_tsvector(ARRAY['@' || number])"
)
# Of the words `phrase`: a phrase, or the beginning of a word. An empty one matches nothing.
ASKED = (
    f"CASE WHEN is_beginning THEN to_tsquery({_CONFIGURATION}, phrase || ':*')"
    f" ELSE phraseto_tsquery({_CONFIGURATION}, phrase) END"
)
_BETWEEN = re.compile(r"[\W_]+")
_FIRST_MARK = 200  # the least combining class of accents and the like; those of Japanese or Hebrew change the letter


def plain(text: str) -> str:
    """The words of a text, with single spaces between them and without accents."""
    if not text.isascii():
        apart = unicodedata.normalize("NFD", text)
        bare = "".join(letter for letter in apart if unicodedata.combining(letter) < _FIRST_MARK)
        text = unicodedata.normalize("NFC", bare)
    return _BETWEEN.sub(" ", text)


def passages(documents: Iterable[Document]) -> Iterator[tuple[int, int, str, str]]:
    """The passages of documents: record, number of the passage, its words, and the parts that are hidden in them.

    A document without words is one passage, so that it is known.
    """
    for seq, text in documents:
        cut = -1
        for cut, (start, end) in enumerate(passages_of(text)):
            passage = text[start:end]
            yield seq, cut, plain(passage), plain(hidden_parts(passage))
        if cut < 0:
            yield seq, 0, "", ""
