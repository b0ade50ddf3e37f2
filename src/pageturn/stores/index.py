"""The full-text index of a SQLite store: what is in it, what waits for it, and how both are searched.

Documents come into the index many at a time, for a third of what each costs alone; until then they wait in a table. Bringing
them in is a write. A search that would have to wait for another writer takes an index of them in memory instead.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from heapq import nlargest
from math import log
from typing import NamedTuple

from pageturn.stores.ports import LAST, Document, Found
from pageturn.stores.words import hidden_parts, terms

WORDS = """CREATE VIRTUAL TABLE words USING fts5(
    text, parts, content='', tokenize='porter unicode61 remove_diacritics 2'
)"""
WAITING = "CREATE TABLE unindexed (row INTEGER PRIMARY KEY, text TEXT NOT NULL)"
EVERY = 64  # records of a session between two times that its documents are brought in

AT_ONCE = 256_000  # characters that an append brings in at the most
_LONG = 64_000  # characters of a document that no append brings in

_COMMON = 500  # a term that occurs in more documents than this is dropped from a query that has rarer ones
_LEAST_WEIGHT = 1e-6  # of a term that most documents contain, as FTS5 has it
_SCORE = "-bm25(words, 1, .5)"
_OF_SESSION = "WHERE row BETWEEN ? AND ?"


class Searched(NamedTuple):
    """A session that is searched: its name, its number in the file, and the number of the last record that counts."""

    session: str
    number: int
    upto: int

    @property
    def rows(self) -> tuple[int, int]:
        """The first and the last row that its words may have in the index."""
        return _row(self.number, 0), _row(self.number, self.upto)


# -- what waits, and what is in the index


def add(db: sqlite3.Connection, number: int, documents: Iterable[Document], inside: Mapping[int, str]) -> None:
    """Let documents wait for the index. The text of one that is inside a blob is taken from there, and not copied once more."""
    plain = []
    for seq, text in documents:
        if seq in inside:
            taken = "INSERT INTO unindexed SELECT ?, CAST(data AS TEXT) FROM blobs WHERE digest = ?"
            db.execute(taken, (_row(number, seq), inside[seq]))
        else:
            plain.append((_row(number, seq), text))
    db.executemany("INSERT INTO unindexed VALUES (?,?)", plain)


def is_waiting(db: sqlite3.Connection, numbers: Iterable[int]) -> bool:
    """Whether a document of these sessions waits for the index."""
    waiting = f"SELECT 1 FROM unindexed {_OF_SESSION} LIMIT 1"
    return any(db.execute(waiting, _rows(number)).fetchone() for number in numbers)


def take_in(db: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Bring the documents of these sessions into the index."""
    for number in numbers:
        rows = db.execute(f"SELECT row FROM unindexed {_OF_SESSION}", _rows(number)).fetchall()
        for (row,) in rows:
            # As bytes and then as text, and from table to table: a long document would stand in memory several times at once.
            (data,) = db.execute("SELECT CAST(text AS BLOB) FROM unindexed WHERE row = ?", (row,)).fetchone()
            text = str(data, "utf-8", "replace")
            del data
            parts = hidden_parts(text)
            del text
            # Not `INSERT ... SELECT`, before which FTS5 writes down what it has: every document would be a segment of its own.
            waiting = "(SELECT CAST(text AS TEXT) FROM unindexed WHERE row = ?1)"
            db.execute(f"INSERT INTO words(rowid, text, parts) VALUES (?1, {waiting}, ?2)", (row, parts))
        db.execute(f"DELETE FROM unindexed {_OF_SESSION}", _rows(number))


def take_in_some(db: sqlite3.Connection, numbers: Iterable[int], large: set[int]) -> None:
    """Bring so many documents of these sessions into the index as take no noticeable time; long ones are left to whoever searches.

    `large` keeps the rows that were found to be too long, so that they are not read each time.
    """
    left = AT_ONCE
    for number in numbers:
        rows = [row for (row,) in db.execute(f"SELECT row FROM unindexed {_OF_SESSION}", _rows(number))]
        for row in rows:
            if row in large:
                continue
            (text,) = db.execute("SELECT text FROM unindexed WHERE row = ?", (row,)).fetchone()
            if len(text) > _LONG:
                large.add(row)
                continue
            left -= len(text)
            if left < 0:
                return
            _fill(db, [(row, text)])
            db.execute("DELETE FROM unindexed WHERE row = ?", (row,))


def forget(db: sqlite3.Connection, number: int, seq: int, text: str | None) -> None:
    """Take the words of a record out: `text` is what is in the index, None where it is not there any more."""
    waited = db.execute("DELETE FROM unindexed WHERE row = ?", (_row(number, seq),)).rowcount
    if text is not None and not waited:
        words = (_row(number, seq), text, hidden_parts(text))
        db.execute("INSERT INTO words(words, rowid, text, parts) VALUES ('delete', ?, ?, ?)", words)


def wipe(db: sqlite3.Connection) -> None:
    """Merge the segments of the index, which keep words that were taken out until then."""
    db.execute("INSERT INTO words(words) VALUES ('optimize')")


_ELSEWHERE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL)


def check(db: sqlite3.Connection) -> list[str]:
    """What is wrong with the index; it cannot be looked at in a file that takes no writes now."""
    try:
        db.execute("INSERT INTO words(words) VALUES ('integrity-check')")
    except sqlite3.Error as error:
        return [] if error.sqlite_errorcode & 0xFF in _ELSEWHERE else [f"the index: {error}"]
    return []


def documents(db: sqlite3.Connection, number: int) -> Iterator[int]:
    """The records of a session that have words in the index, or that wait for it."""
    having = (("words_docsize", "id"), ("unindexed", "row"))
    for table, row in having:
        found = db.execute(f"SELECT {row} FROM {table} WHERE {row} BETWEEN ? AND ?", _rows(number))
        yield from (each & LAST for (each,) in found if isinstance(each, int))


def rebuild(db: sqlite3.Connection, documents: Iterable[tuple[int, Document]]) -> None:
    """Begin the index anew: these documents, each with the number of its session, wait for it."""
    db.execute("DELETE FROM unindexed")
    # An index that is damaged may not let itself be dropped, so its tables go as if they were anybody's.
    db.execute("PRAGMA writable_schema = ON")
    db.execute("DELETE FROM sqlite_master WHERE name = 'words'")
    db.execute("PRAGMA writable_schema = RESET")
    for part in ("data", "idx", "docsize", "config"):
        db.execute(f"DROP TABLE IF EXISTS words_{part}")
    db.execute(WORDS)
    for number, document in documents:
        add(db, number, [document], {})


# -- searching


def search(db: sqlite3.Connection, searched: Sequence[Searched], query: str, limit: int) -> list[Found]:
    """The best matches of what is in the index."""
    phrases = _phrases(query)
    counts = {phrase: _count(db, phrase, _COMMON + 1) for phrase in phrases}
    asked = " OR ".join(_rare(phrases, counts))
    found: list[Found] = []
    for each in searched if asked else ():
        rows = db.execute(
            f"SELECT rowid, {_SCORE} AS score FROM words WHERE words MATCH ?"
            " AND rowid BETWEEN ? AND ? ORDER BY score DESC, rowid DESC LIMIT ?",
            (asked, *each.rows, limit),
        )
        found += [Found(each.session, row & LAST, score) for row, score in rows]
    return nlargest(limit, found, key=lambda each: each.score)


def search_with_waiting(db: sqlite3.Connection, searched: Sequence[Searched], query: str, limit: int) -> list[Found]:
    """The best matches of what is in the index and of what waits for it, without a write.

    A term weighs by how rare it is in both together. The length of a document is compared with that of others on its own
    side, so its score may differ a little from what it will be when all are in one index.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as beside:
        beside.execute(WORDS)
        for each in searched:
            _fill(beside, _waiting(db, each.rows))
        parts = (db, beside)
        documents = [part.execute("SELECT count(*) FROM words").fetchone()[0] for part in parts]
        phrases = _phrases(query)
        counts = {phrase: tuple(_count(part, phrase) for part in parts) for phrase in phrases}
        totals = {phrase: sum(counted) for phrase, counted in counts.items()}
        found: list[Found] = []
        for each in searched:
            scores: dict[int, float] = defaultdict(float)
            for phrase in _rare(phrases, totals):
                weight = _weight(sum(documents), totals[phrase])
                for part, of, having in zip(parts, documents, counts[phrase], strict=True):
                    factor = weight / _weight(of, having)
                    for row, score in _scores(part, phrase, each):
                        scores[row] += score * factor
            best = nlargest(limit, scores.items(), key=lambda scored: (scored[1], scored[0]))
            found += [Found(each.session, row & LAST, score) for row, score in best]
    return nlargest(limit, found, key=lambda each: each.score)


def _phrases(query: str) -> list[str]:
    """The terms of a query as FTS5 reads them: quoted, so that nothing in them is an operator."""
    return ['"' + term.replace('"', '""') + '"' for term in terms(query)]


def _rare(phrases: list[str], counts: dict[str, int]) -> list[str]:
    """The phrases without those that very many documents contain, unless there are no others."""
    return [phrase for phrase in phrases if counts[phrase] <= _COMMON] or phrases


def _count(db: sqlite3.Connection, phrase: str, most: int = -1) -> int:
    """How many documents contain a phrase; it is not counted further than to `most`."""
    counted = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    count: int = db.execute(counted, (phrase, most)).fetchone()[0]
    return count


def _scores(db: sqlite3.Connection, phrase: str, searched: Searched) -> Iterator[tuple[int, float]]:
    """The rows of a session that contain a phrase, each with its score for this phrase alone."""
    return db.execute(
        f"SELECT rowid, {_SCORE} FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?", (phrase, *searched.rows)
    )


def _weight(documents: int, having: int) -> float:
    """How much a term weighs that so many of the documents contain: the inverse document frequency of FTS5's bm25."""
    return max(log((documents - having + 0.5) / (having + 0.5)), _LEAST_WEIGHT)


def _fill(db: sqlite3.Connection, documents: Iterable[tuple[int, str]]) -> None:
    for row, text in documents:
        db.execute("INSERT INTO words(rowid, text, parts) VALUES (?,?,?)", (row, text, hidden_parts(text)))


def _waiting(db: sqlite3.Connection, rows: tuple[int, int]) -> Iterator[tuple[int, str]]:
    return db.execute(f"SELECT row, CAST(text AS TEXT) FROM unindexed {_OF_SESSION}", rows)


def _row(number: int, seq: int) -> int:
    """Where the words of a record are in the index: those of one session lie together, in order."""
    return number << 40 | seq


def _rows(number: int) -> tuple[int, int]:
    """The first and the last row that the words of a session may have."""
    return _row(number, 0), _row(number, LAST)
