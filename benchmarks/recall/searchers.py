"""Ways to search the messages of a session: ours through `Session.recall`, and what others do with the same words."""

import re
import sqlite3
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import pageturn as pt
from benchmarks.recall.questions import Case, Question
from pageturn.recall.embedders import embed
from pageturn.stores import open_store
from pageturn.values.passages import passages_of
from pageturn.values.search_text import search_text

LIMIT = 10
_WORD = re.compile(r"\w+")
_STOP_WORDS = frozenset(  # those that Lucene leaves out
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will"
    " with".split()
)
Searcher = Callable[[Question], Sequence[int]]
"""The messages that a question finds, the best first."""


def ours(case: Case, **options: Any) -> Searcher:
    """Recall, in a session with these options."""
    store = open_store(":memory:")
    session = pt.Session.open(store, id="case", **options)
    pages = session.extend(case.messages)
    if "embedder" in options:
        embed(store, "case", options["embedder"])
    places = {page.handle: at for at, page in enumerate(pages)}
    turns = [0]
    for message in case.messages:
        turns.append(turns[-1] + (message.role is pt.Role.ASSISTANT))

    def search(question: Question) -> list[int]:
        where = None if question.asked_at is None else {"turns": (None, turns[question.asked_at])}
        found = session.recall(question.text, LIMIT, where=where)
        return [places[hit.handle] for hit in found.hits] if isinstance(found, pt.Recalled) else []

    return search


def plain_fts5(case: Case) -> Searcher:
    """SQLite's full-text search over whole messages, with stems and any of the words."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='porter')")
    texts = enumerate(map(search_text, case.messages), start=1)
    db.executemany("INSERT INTO words(rowid, text) VALUES (?,?)", texts)

    def search(question: Question) -> list[int]:
        asked = " OR ".join(f'"{word}"' for word in words_of(question.text))
        upto = len(case.messages) if question.asked_at is None else question.asked_at
        statement = "SELECT rowid - 1 FROM words WHERE words MATCH ? AND rowid <= ? ORDER BY rank LIMIT ?"
        return [row for (row,) in db.execute(statement, (asked, upto, LIMIT))] if asked else []

    return search


def fts5_of_passages(case: Case) -> Searcher:
    """SQLite's full-text search over passages, with stems, without stop words; a message counts by its best passage."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='porter')")
    passages = [
        (at, text[a:b]) for at, text in enumerate(map(search_text, case.messages)) for a, b in passages_of(text)
    ]
    db.executemany("INSERT INTO words(rowid, text) VALUES (?,?)", enumerate((text for _, text in passages), start=1))
    first = {at: row for row, (at, _) in reversed([*enumerate(passages, start=1)])}

    def search(question: Question) -> list[int]:
        words = [word for word in words_of(question.text) if word.lower() not in _STOP_WORDS]
        upto = next((first[at] for at in range(question.asked_at or 0, len(case.messages)) if at in first), 0)
        last = upto - 1 if question.asked_at is not None and upto else len(passages)
        statement = "SELECT rowid - 1 FROM words WHERE words MATCH ? AND rowid <= ? ORDER BY rank LIMIT ?"
        asked = " OR ".join(f'"{word}"' for word in words)
        found = db.execute(statement, (asked, last, 50 * LIMIT)) if asked else ()
        return list(dict.fromkeys(passages[row][0] for (row,) in found))[:LIMIT]

    return search


def words_of(question: str) -> list[str]:
    """All words of a question."""
    return _WORD.findall(question)


def by_bm25s(case: Case) -> Searcher | None:
    """The library bm25s over whole messages, with stems and without stop words; None where it is not installed."""
    if find_spec("bm25s") is None or find_spec("Stemmer") is None:
        return None
    import bm25s  # noqa: PLC0415
    import Stemmer  # noqa: PLC0415

    stemmer = Stemmer.Stemmer("english")
    retriever = bm25s.BM25()
    corpus = [search_text(message) for message in case.messages]
    retriever.index(bm25s.tokenize(corpus, stemmer=stemmer, show_progress=False), show_progress=False)

    def search(question: Question) -> list[int]:
        asked = bm25s.tokenize([question.text], stemmer=stemmer, show_progress=False, return_ids=False)
        upto = len(corpus) if question.asked_at is None else question.asked_at
        scores = retriever.get_scores(asked[0])[:upto]
        return [int(at) for at in scores.argsort()[::-1][:LIMIT] if scores[at] > 0]

    return search


def dense(case: Case, embedder: Any) -> Searcher:
    """The cosine of passages alone; a message counts by its best one."""
    import numpy as np  # noqa: PLC0415

    texts = [search_text(message) for message in case.messages]
    passages = [(at, text[start:end]) for at, text in enumerate(texts) for start, end in passages_of(text)]
    places = np.array([at for at, _ in passages])
    parts = [embedder.embed([text for _, text in passages[at : at + 256]]) for at in range(0, len(passages), 256)]
    vectors = np.concatenate(parts)

    def search(question: Question) -> list[int]:
        cosines = vectors @ embedder.embed([question.text])[0]
        if question.asked_at is not None:
            cosines = cosines[places < question.asked_at]
        return list(dict.fromkeys(int(places[at]) for at in np.argsort(-cosines)[: 50 * LIMIT]))[:LIMIT]

    return search
