"""How long a recall takes among very many passages, beside plain FTS5 over the same passages with the same questions.

    python -m benchmarks.recall.latency ../shared/data --passages 100000

The passages are the recorded chats over and over; the vectors of pages are random, that of the question is the model's.
"""

import sqlite3
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

import pageturn as pt
from benchmarks.recall.questions import chats
from benchmarks.recall.searchers import words_of
from pageturn.recall.embedders.minilm import MiniLm
from pageturn.recall.vectors import packed
from pageturn.stores import SqliteStore
from pageturn.values.passages import passages_of
from pageturn.values.search_text import search_text

_QUESTIONS = 100


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--passages", type=int, default=100_000)
    given = parser.parse_args(arguments)
    cases = [*chats(given.data, tuning=True, together=1), *chats(given.data, tuning=False, together=1)]
    every = [message for case in cases for message in case.messages]
    questions = [question.text for case in cases for question in case.questions][
        :: max(1, 4 * len(cases) // _QUESTIONS)
    ][:_QUESTIONS]
    with TemporaryDirectory() as folder:
        store = SqliteStore(f"{folder}/agent.db", durability="off")
        session = pt.Session.open(store, id="s")
        plain = sqlite3.connect(f"{folder}/plain.db", isolation_level=None)
        plain.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='porter')")
        count = _fill(session, store, plain, every, given.passages)
        before = Path(f"{folder}/agent.db").stat().st_size
        print(
            f"{count:,} passages, {len(session.reader.pages()):,} pages, a file of {before / 1e6:,.0f} MB; CPU ms: p50, p99"
        )
        model = MiniLm()
        by_meaning = pt.Session.open(store, id="s", embedder=_Named(model))
        session.recall("warm")
        by_meaning.recall("warm")
        _time("plain FTS5 over passages", questions, lambda question: _plain(plain, question))
        _time("recall by words", questions, session.recall)
        _time("the vector of the question", questions, lambda question: model.embed([question]))
        _time("recall by words and meaning", questions, by_meaning.recall)
        by_meaning.close()
        store.close()
        plain.close()


class _Named:
    """The model under the name of the random vectors."""

    name = "random"

    def __init__(self, model: MiniLm) -> None:
        self.dimension = model.dimension
        self.embed = model.embed


def _fill(
    session: pt.Session, store: SqliteStore, plain: sqlite3.Connection, every: Sequence[pt.Message], most: int
) -> int:
    chance = np.random.default_rng(1)
    count = 0
    while count < most:
        batch: list[pt.Message] = []
        passages: list[list[str]] = []
        for message in every:
            text = search_text(message)
            batch.append(message)
            passages.append([text[start:end] for start, end in passages_of(text)])
            count += len(passages[-1])
            if count >= most:
                break
        plain.execute("BEGIN")
        plain.executemany("INSERT INTO words(text) VALUES (?)", ((text,) for texts in passages for text in texts))
        plain.execute("COMMIT")
        pages = session.extend(batch)
        vectors = []
        for page, texts in zip(pages, passages, strict=True):
            made = chance.standard_normal((len(texts), 384)).astype(np.float32)
            vectors.append(packed(made / np.linalg.norm(made, axis=1, keepdims=True), "s random/384", page.seq))
        store.keep_vectors("s", "random/384", vectors)
    return count


def _plain(db: sqlite3.Connection, question: str) -> None:
    asked = " OR ".join(f'"{word}"' for word in words_of(question))
    db.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 5", (asked,)).fetchall()


def _time(name: str, questions: Sequence[str], ask: Callable[[str], object]) -> None:
    times = []
    for question in questions:
        start = process_time()
        ask(question)
        times.append((process_time() - start) * 1_000)
    cut = quantiles(times, n=100)
    print(f"{name:30} {cut[49]:8.1f} {cut[98]:8.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
