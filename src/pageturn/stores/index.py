"""Maintains and searches the full-text index of a SQLite store, including documents that are not indexed yet.

Documents are indexed by passage (`values.passages`), so that a search finds a long one by what one passage says, and scores it by its best
passage. Indexing in batches costs a third of indexing one at a time; until then documents wait in a table. Indexing is a write: a
search that would have to wait for another writer builds a temporary index of the waiting documents in memory instead.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from heapq import nlargest
from itertools import zip_longest
from math import log
from typing import NamedTuple
from zlib import crc32

from pageturn.stores.ports import LAST, Document, Found
from pageturn.stores.words import COMMON, hidden_parts, is_beginning, searched_words
from pageturn.values.errors import Damaged, StoreError
from pageturn.values.passages import MOST_PASSAGES, passages_of

WORDS = """CREATE VIRTUAL TABLE words USING fts5(
    text, parts, content='', tokenize='porter unicode61 remove_diacritics 2'
)"""
WAITING = "CREATE TABLE unindexed (row INTEGER PRIMARY KEY, text TEXT NOT NULL)"
# The sessions of a file of an older format, whose documents must be indexed again.
STALE = """CREATE TABLE stale (session INTEGER PRIMARY KEY);
INSERT INTO stale SELECT number FROM sessions;
"""
STALE_AGAIN = "INSERT OR IGNORE INTO stale SELECT number FROM sessions;\n"
# The CRC-32 of the text; NULL if an older version wrote it.
WAITING_SUM = "ALTER TABLE unindexed ADD COLUMN sum INTEGER;\n"
EVERY = 64  # records of a session after which its documents are indexed

AT_ONCE = 256_000  # characters that one append indexes at most
_LONG = 64_000  # a longer document is never indexed by an append
_PIECE = 1_000_000  # bytes of a text that are copied at a time

_LEAST_WEIGHT = 1e-6  # for a term that most passages contain, as in FTS5
_PASSAGES_A_RECORD = 3  # matching passages per document on average; if there are more, the query runs again
_CUT_BITS = (MOST_PASSAGES - 1).bit_length()
_SEQ_BITS = 26
_LAST_SEQ = (1 << _SEQ_BITS) - 1
_LAST_NUMBER = (1 << (63 - _SEQ_BITS - _CUT_BITS)) - 1
_SCORE = "-bm25(words, 1, .5)"
_OF_SESSION = "WHERE row BETWEEN ? AND ?"


class Searched(NamedTuple):
    """A session that is searched: its name, its number in the file, and the number of its last record."""

    session: str
    number: int
    upto: int

    @property
    def passages(self) -> tuple[int, int]:
        """The first and the last row number of its passages in the index."""
        return _passage(self.number, 0, 0), _passage(self.number, min(self.upto, _LAST_SEQ), MOST_PASSAGES - 1)

    @property
    def waiting(self) -> tuple[int, int]:
        """The first and the last row number of its waiting documents."""
        return _row(self.number, 0), _row(self.number, self.upto)


# -- documents that wait, and the index


def add(db: sqlite3.Connection, number: int, documents: Iterable[Document], inside: Mapping[int, str]) -> None:
    """Queue documents for the index. A text that is part of a blob is read from there, and not copied again."""
    plain = []
    for seq, text in documents:
        if seq > _LAST_SEQ or number > _LAST_NUMBER:
            raise StoreError(
                f"one file can index {_LAST_NUMBER:,} sessions and {_LAST_SEQ:,} entries of each: begin another file"
            )
        if seq in inside:
            _copy_blob(db, inside[seq], _row(number, seq))
        else:
            plain.append((_row(number, seq), text, crc32(text.encode())))
    db.executemany("INSERT INTO unindexed VALUES (?,?,?)", plain)


def _copy_blob(db: sqlite3.Connection, digest: str, row: int) -> None:
    """Queue the text of a blob for the index, copying its bytes piece by piece."""
    (source,) = db.execute("SELECT rowid FROM blobs WHERE digest = ?", (digest,)).fetchone()
    with db.blobopen("blobs", "data", source, readonly=True) as blob:
        total = 0
        while piece := blob.read(_PIECE):
            total = crc32(piece, total)
        blob.seek(0)
        db.execute("INSERT INTO unindexed VALUES (?, zeroblob(?), ?)", (row, len(blob), total))
        with db.blobopen("unindexed", "text", row) as place:
            while piece := blob.read(_PIECE):
                place.write(piece)


def is_waiting(db: sqlite3.Connection, numbers: Iterable[int]) -> bool:
    """Whether a document of these sessions waits to be indexed."""
    waiting = f"SELECT 1 FROM unindexed {_OF_SESSION} LIMIT 1"
    return any(db.execute(waiting, _rows(number)).fetchone() for number in numbers)


def take_in(db: sqlite3.Connection, numbers: Iterable[int]) -> list[int]:
    """Index the waiting documents of these sessions; returns the records whose queued text was altered, to be queued again."""
    altered: list[int] = []
    for number in numbers:
        rows = db.execute(f"SELECT row FROM unindexed {_OF_SESSION}", _rows(number)).fetchall()
        for (row,) in rows:
            # Read as bytes and then decoded: otherwise a long document would be in memory several times.
            data, total = db.execute("SELECT CAST(text AS BLOB), sum FROM unindexed WHERE row = ?", (row,)).fetchone()
            if not _is_whole(data, total):
                db.execute("INSERT OR IGNORE INTO stale VALUES (?)", (number,))
                altered.append(row & LAST)
                continue
            text = str(data, "utf-8", "replace")
            del data
            _fill(db, [(row, text)])
        db.execute(f"DELETE FROM unindexed {_OF_SESSION}", _rows(number))
    return altered


def take_in_some(db: sqlite3.Connection, numbers: Iterable[int], large: set[int]) -> None:
    """Index as many documents of these sessions as take no noticeable time; long ones are left to the next search.

    `large` remembers the rows that were too long, so that they are not read each time.
    """
    left = AT_ONCE
    taken: list[tuple[int, str]] = []
    for number in numbers:
        # One by one: after an import a hundred thousand may wait, and only a few are indexed at a time.
        rows = db.execute(f"SELECT row FROM unindexed {_OF_SESSION}", _rows(number))
        for (row,) in rows:
            if row in large:
                continue
            text, total = db.execute("SELECT text, sum FROM unindexed WHERE row = ?", (row,)).fetchone()
            if len(text) > _LONG:
                large.add(row)
                continue
            if not _is_whole(text.encode(), total):  # the next search reports it
                continue
            left -= len(text)
            if left < 0:
                break
            taken.append((row, text))
        rows.close()
    _fill(db, taken)
    db.executemany("DELETE FROM unindexed WHERE row = ?", [(row,) for row, _ in taken])


def forget(db: sqlite3.Connection, number: int, seq: int, text: str | None) -> None:
    """Remove the words of a record: `text` is the indexed text, or None if it is gone."""
    waited = db.execute("DELETE FROM unindexed WHERE row = ?", (_row(number, seq),)).rowcount
    if text is not None and not waited and not is_stale(db, number):
        taken_out = "INSERT INTO words(words, rowid, text, parts) VALUES ('delete', ?, ?, ?)"
        db.executemany(taken_out, _passages(_row(number, seq), text))


def is_stale(db: sqlite3.Connection, number: int) -> bool:
    """Whether the words of a session must be indexed again."""
    return db.execute("SELECT 1 FROM stale WHERE session = ?", (number,)).fetchone() is not None


def renew(db: sqlite3.Connection, number: int, given: Iterable[Document]) -> None:
    """Queue the words of a session that the index lacks."""
    known = {*documents(db, number)}
    for document in given:  # one by one, so that not all of them are in memory at once
        if document.seq not in known:
            add(db, number, [document], {})
    db.execute("DELETE FROM stale WHERE session = ?", (number,))


def begin_anew(db: sqlite3.Connection) -> None:
    """Drop a damaged index with its queue: the words of every session must be indexed again."""
    drop(db)
    db.execute("DELETE FROM unindexed")
    db.execute("INSERT OR IGNORE INTO stale SELECT number FROM sessions")


def _is_whole(data: bytes, total: object) -> bool:
    """Whether a queued text is the one that was written."""
    return total is None or crc32(data) == total


def drop(db: sqlite3.Connection) -> None:
    """Start the index again, empty."""
    # A damaged index may refuse DROP TABLE, so its shadow tables are dropped as ordinary ones.
    db.execute("PRAGMA writable_schema = ON")
    db.execute("DELETE FROM sqlite_master WHERE name = 'words'")
    db.execute("PRAGMA writable_schema = RESET")
    for part in ("data", "idx", "docsize", "config"):
        db.execute(f"DROP TABLE IF EXISTS words_{part}")
    db.execute(WORDS)


def wipe(db: sqlite3.Connection) -> None:
    """Merge the segments of the index; until then they keep removed words."""
    db.execute("INSERT INTO words(words) VALUES ('optimize')")


_ELSEWHERE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL)


def check(db: sqlite3.Connection) -> list[str]:
    """What is wrong with the index; it cannot be checked in a read-only file."""
    try:
        db.execute("INSERT INTO words(words) VALUES ('integrity-check')")
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF not in _ELSEWHERE:
            return [f"the index: {error}"]
    waiting = db.execute("SELECT row, CAST(text AS BLOB), sum FROM unindexed")
    altered = (
        f"the text of entry {row & LAST} that waits for it was altered"
        for row, *told in waiting
        if not _is_whole(*told)
    )
    return [f"the index: {what}" for what in altered]


def documents(db: sqlite3.Connection, number: int) -> Iterator[int]:
    """The records of a session that have words in the index or in its queue."""
    first, last = Searched("", number, LAST).passages
    indexed = db.execute(
        "SELECT DISTINCT id >> ? FROM words_docsize WHERE id BETWEEN ? AND ?", (_CUT_BITS, first, last)
    )
    yield from (each & _LAST_SEQ for (each,) in indexed if isinstance(each, int))
    waiting = db.execute(f"SELECT row FROM unindexed {_OF_SESSION}", _rows(number))
    yield from (each & LAST for (each,) in waiting if isinstance(each, int))


def rebuild(db: sqlite3.Connection, documents: Iterable[tuple[int, Document]]) -> None:
    """Rebuild the index: these documents, each with the number of its session, are queued."""
    db.execute("DELETE FROM unindexed")
    db.execute("DELETE FROM stale")
    drop(db)
    for number, document in documents:
        add(db, number, [document], {})


def differs(db: sqlite3.Connection, documents: Iterable[tuple[int, Document]]) -> bool:
    """Whether the index has other words than these documents, each with the number of its session: they are indexed again in a second
    file.
    """
    with closing(sqlite3.connect("", isolation_level=None)) as beside:  # a temporary file, deleted when closed
        beside.execute(WORDS)
        beside.execute("BEGIN")
        waiting = {row for (row,) in db.execute("SELECT row FROM unindexed")}
        given: set[int] = set()
        for number, (seq, text) in documents:
            if _row(number, seq) not in waiting:
                given.add(number << _SEQ_BITS | seq)
                _fill(beside, [(_row(number, seq), text)])
        beside.execute("COMMIT")
        with closing(_indexed_words(db)) as kept, closing(_indexed_words(beside)) as made:
            words = (each for each in kept if each[1] >> _CUT_BITS in given)
            return any(one != other for one, other in zip_longest(words, made))


def _indexed_words(db: sqlite3.Connection) -> Generator[tuple[str, int, str, int], None, None]:
    """Every word of the index with its positions, in order."""
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.indexed_words USING fts5vocab(main, words, instance)")
    try:
        yield from db.execute("SELECT term, doc, col, offset FROM temp.indexed_words")
    finally:
        db.execute("DROP TABLE temp.indexed_words")


# -- searching


def search(
    db: sqlite3.Connection, searched: Sequence[Searched], query: str, limit: int, *, every: bool = False
) -> list[Found]:
    """The best matches in the index: each record with its best passage; `every` also searches for common words.

    Only the searched sessions decide which words are searched for. The weight of a word, and so the order, is by the whole file.
    """
    asked = " OR ".join(_repeated(_phrases(query, lambda phrase: _count_of(db, phrase, searched), every=every)))
    found: list[Found] = []
    for each in searched if asked else ():
        most = limit * _PASSAGES_A_RECORD
        while True:
            rows = db.execute(
                f"SELECT rowid, {_SCORE} AS score FROM words WHERE words MATCH ?"
                " AND rowid BETWEEN ? AND ? ORDER BY score DESC, rowid DESC LIMIT ?",
                (asked, *each.passages, most),
            ).fetchall()
            best = _best(each, rows)
            if len(best) >= limit or len(rows) < most:
                break
            most *= 4
        found += best[:limit]
    return nlargest(limit, found, key=lambda each: each.score)


def _best(searched: Searched, scored: Iterable[tuple[int, float]]) -> list[Found]:
    """The records of these passages, given best first; each with its best passage."""
    best: dict[int, Found] = {}
    for row, score in scored:
        seq = row >> _CUT_BITS & _LAST_SEQ
        if seq not in best:
            best[seq] = Found(searched.session, seq, score, row & MOST_PASSAGES - 1)
    return [*best.values()]


def search_with_waiting(
    db: sqlite3.Connection, searched: Sequence[Searched], query: str, limit: int, *, every: bool = False
) -> list[Found]:
    """The best matches in the index and in its queue, without writing.

    A term weighs by how rare it is in both together. The length of a document is compared within its own side only, so its score may
    differ a little from the one it will have when everything is in one index.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as beside:
        beside.execute(WORDS)
        for each in searched:
            _fill(beside, _waiting(db, each.waiting))
        parts = (db, beside)
        documents = [part.execute("SELECT count(*) FROM words").fetchone()[0] for part in parts]
        counts: dict[str, tuple[int, ...]] = {}

        def count(phrase: str) -> int:
            counts[phrase] = tuple(_count(part, phrase) for part in parts)
            return sum(_count_of(part, phrase, searched) for part in parts)

        phrases = _phrases(query, count, every=every)
        found: list[Found] = []
        for each in searched:
            scores: dict[int, float] = defaultdict(float)
            for phrase, times in phrases.items():
                weight = _weight(sum(documents), sum(counts[phrase])) * times
                for part, of, having in zip(parts, documents, counts[phrase], strict=True):
                    factor = weight / _weight(of, having)
                    for row, score in _scores(part, phrase, each):
                        scores[row] += score * factor
            ranked = sorted(scores.items(), key=lambda scored: (-scored[1], -scored[0]))
            found += _best(each, ranked)[:limit]
    return nlargest(limit, found, key=lambda each: each.score)


def _phrases(query: str, count: Callable[[str], int], *, every: bool) -> dict[str, int]:
    """The search terms in FTS5's syntax with their weights."""
    asked = searched_words(query, lambda word: count(_quoted(word)), every=every)
    return {_quoted(word): times for word, times in asked.items()}


def _repeated(phrases: Mapping[str, int]) -> Iterator[str]:
    return (phrase for phrase, times in phrases.items() for _ in range(times))


def _quoted(term: str) -> str:
    """A term in quotes, so that nothing in it is an operator."""
    return '"' + term.replace('"', '""') + '"' + ("*" if is_beginning(term) else "")


def _count(db: sqlite3.Connection, phrase: str) -> int:
    """How many passages of the whole file contain a phrase."""
    count: int = db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (phrase,)).fetchone()[0]
    return count


def _count_of(db: sqlite3.Connection, phrase: str, searched: Iterable[Searched]) -> int:
    """How many passages of these sessions contain a phrase; counting stops at a limit."""
    counted = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?)"
    count = 0
    for each in searched:
        count += db.execute(counted, (phrase, *each.passages, COMMON + 1 - count)).fetchone()[0]
        if count > COMMON:
            break
    return count


def _scores(db: sqlite3.Connection, phrase: str, searched: Searched) -> Iterator[tuple[int, float]]:
    """The rows of a session that contain a phrase, each with its score for this phrase alone."""
    return db.execute(
        f"SELECT rowid, {_SCORE} FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?", (phrase, *searched.passages)
    )


def _weight(documents: int, having: int) -> float:
    """The weight of a term that this many of the documents contain: the inverse document frequency of FTS5's bm25."""
    return max(log((documents - having + 0.5) / (having + 0.5)), _LEAST_WEIGHT)


def _fill(db: sqlite3.Connection, documents: Iterable[tuple[int, str]]) -> None:
    for row, text in documents:
        # Not `INSERT ... SELECT`: FTS5 flushes before it, so every passage would be a segment of its own.
        db.executemany("INSERT INTO words(rowid, text, parts) VALUES (?,?,?)", _passages(row, text))


def _passages(row: int, text: str) -> Iterator[tuple[int, str, str]]:
    """The passages of a document as indexed. A document without words is one passage, so that it is known."""
    number, seq = row >> 40, row & LAST
    at = 0
    for at, (start, end) in enumerate(passages_of(text), start=1):
        passage = text[start:end]
        yield _passage(number, seq, at - 1), passage, hidden_parts(passage)
    if not at:
        yield _passage(number, seq, 0), "", ""


def _waiting(db: sqlite3.Connection, rows: tuple[int, int]) -> Iterator[tuple[int, str]]:
    for row, data, total in db.execute(f"SELECT row, CAST(text AS BLOB), sum FROM unindexed {_OF_SESSION}", rows):
        if not _is_whole(data, total):
            raise Damaged(f"the words of entry {row & LAST}, which are not indexed yet, were altered")
        yield row, str(data, "utf-8", "replace")


def _passage(number: int, seq: int, cut: int) -> int:
    """The row of a passage in the index: those of one session are contiguous and in order."""
    return (number << _SEQ_BITS | seq) << _CUT_BITS | cut


def _row(number: int, seq: int) -> int:
    """The row of a document in the queue."""
    return number << 40 | seq


def _rows(number: int) -> tuple[int, int]:
    """The first and the last row that documents of a session can have in the queue."""
    return _row(number, 0), _row(number, LAST)
