"""Searches passages by meaning: exactly, over 8-bit vectors that the store keeps. Needs NumPy.

A vector of unit length is stored as signed bytes and a factor that scales them back: 388 bytes for 384 numbers. Among very many, those
whose signs differ least from the query's are selected, and then scored by their bytes. The vectors of a record end with a checksum that
also covers whose they are: altered or swapped vectors count as missing, and are made again.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from pageturn.journal.journal import Journal
from pageturn.recall.embedders.contract import Embedder, EmbedderFailed, least_cosine
from pageturn.stores import Embedded, Found, Span, VectorStore
from pageturn.values.errors import PageturnError, StoreError
from pageturn.values.pages import Page
from pageturn.values.passages import passages_of
from pageturn.values.search_text import search_text

_ALL = 2_048  # up to this many passages all are scored; of more, only those nearest by their signs
_LOOKED_AT = 8  # as a multiple of the wanted ones, if that is more
_MOST_PASSAGES = 200  # of one page that are embedded: the rest of a very long one is found by words
_AT_ONCE = 64  # passages that are embedded and stored at a time
_HARMLESS = "ok"  # a text that an embedder rejects only if it rejects everything
_PAUSE = timedelta(seconds=30)
_SUM = 4  # bytes


class Near(NamedTuple):
    """The nearest passage of a record: its cosine, and its number."""

    cosine: float
    passage: int


class Meaning:
    """The vectors of sessions by one embedder: searches them, and makes missing ones."""

    def __init__(self, store: VectorStore, embedder: Embedder, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock
        # With another dimension the same bytes would mean other vectors.
        self._name = f"{embedder.name}/{embedder.dimension}"
        self._floor = least_cosine(embedder)
        self._failed: tuple[datetime, EmbedderFailed] | None = None  # the last time that it failed for every text
        self._lock = Lock()
        self._tables: dict[str, _Table] = {}

    @property
    def is_pausing(self) -> bool:
        """Whether the embedder failed so recently that it is not asked again: an endpoint that is down may take long to fail."""
        return self._failed is not None and timedelta(0) <= self._clock() - self._failed[0] < _PAUSE

    def vector_of(self, query: str) -> "QueryVector":
        """The vector of a query; raises `EmbedderFailed`, for a while after a failure without asking."""
        if self.is_pausing and self._failed is not None:
            raise EmbedderFailed(f"{self._failed[1]} (it is asked again {_PAUSE.total_seconds():.0f} s after that)")
        try:
            return QueryVector(self, self._embed([query])[0])
        except EmbedderFailed:
            self._embed([_HARMLESS])  # if it has an answer to this, only the query was rejected
            raise

    def near(
        self, vector: NDArray[np.float32], spans: Sequence[Span], found: Iterable[Found], most: int
    ) -> tuple[dict[tuple[str, int], Near], bool]:
        named: dict[str, list[int]] = {}
        for each in found:
            named.setdefault(each.session, []).append(each.seq)
        near: dict[tuple[str, int], Near] = {}
        is_all = True
        for span in spans:
            with self._lock:
                table = self._table(span.session)
                found_here, is_all_here = table.near(vector, span.upto, named.get(span.session, ()), most, self._floor)
            near |= {(span.session, seq): each for seq, each in found_here.items()}
            is_all = is_all and is_all_here
        return near, is_all

    def embed(self, journal: Journal, is_stopped: Callable[[], bool] = lambda: False) -> int:
        """Make the vectors that a session and its parents lack, and store them; returns how many pages had none.

        If it is interrupted, what is stored stays, and the next call continues from there. Pages that cannot be read now are tried
        again then.
        """
        count = 0
        for session, pages in self._missing(journal).items():
            waiting: list[tuple[int, list[str]]] = []
            for page in pages:
                if is_stopped():
                    return count
                if (passages := _passages(journal, page)) is not None:
                    waiting.append((page.seq, passages))
                if sum(len(texts) for _, texts in waiting) >= _AT_ONCE:
                    count += self._keep(session, waiting)
                    waiting = []
            count += self._keep(session, waiting)
        return count

    def _missing(self, journal: Journal) -> dict[str, list[Page]]:
        missing: dict[str, list[Page]] = {}
        with self._lock:
            known = {span.session: self._table(span.session).known for span in journal.spans}
        for page in journal.state.pages:
            session = journal.owner(page.seq)
            if page.counts and page.seq not in known[session]:
                missing.setdefault(session, []).append(page)
        return missing

    def _keep(self, session: str, waiting: Sequence[tuple[int, list[str]]]) -> int:
        if not waiting:
            return 0
        vectors = self._embed_each([text for _, each in waiting for text in each])
        kept, first = [], 0
        for seq, each in waiting:
            kept.append(packed(vectors[first : first + len(each)], self._owner(session), seq))
            first += len(each)
        self._store.keep_vectors(session, self._name, kept)
        with self._lock:
            if session in self._tables and kept[0].seq <= self._tables[session].last:
                del self._tables[session]  # it only looks for later ones
        return len(waiting)

    def _embed_each(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector per text; zeros for one that the embedder rejects, which is then found by its words alone.

        Raises `EmbedderFailed` if it rejects a harmless text too.
        """
        if not texts:
            return np.zeros((0, self._embedder.dimension), np.float32)
        try:
            return self._embed(texts)
        except EmbedderFailed:
            self._embed([_HARMLESS])
        if len(texts) == 1:
            return np.zeros((1, self._embedder.dimension), np.float32)
        half = len(texts) // 2
        return np.concatenate([self._embed_each(texts[:half]), self._embed_each(texts[half:])])

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector of length 1 per text, whatever length the embedder returns."""
        try:
            vectors = self._embedded(texts)
        except EmbedderFailed as error:
            self._failed = self._clock(), error
            raise
        self._failed = None
        return vectors

    def _embedded(self, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            vectors = np.asarray(self._embedder.embed(texts), np.float32)
        except PageturnError as error:
            raise EmbedderFailed(str(error)) from error
        except Exception as error:  # whatever a user's own embedder raises
            raise EmbedderFailed(type(error).__name__) from error
        expected = (len(texts), self._embedder.dimension)
        if vectors.shape != expected or not np.isfinite(vectors).all():
            raise EmbedderFailed(
                f"{self._embedder.name}: expected finite vectors of shape {expected}, got {vectors.shape}"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not lengths.all():
            raise EmbedderFailed(f"{self._embedder.name}: expected vectors with a direction, got one of zeros")
        unit: NDArray[np.float32] = vectors / lengths
        return unit

    def _table(self, session: str) -> "_Table":
        table = self._tables.setdefault(session, _Table(self._embedder.dimension, self._owner(session)))
        table.take(self._store.vectors(session, self._name, table.last))
        return table

    def _owner(self, session: str) -> str:
        return f"{session} {self._name}"


class QueryVector(NamedTuple):
    """A query and its vector."""

    meaning: Meaning
    vector: NDArray[np.float32]

    def near(
        self, spans: Sequence[Span], found: Iterable[Found], most: int
    ) -> tuple[dict[tuple[str, int], Near], bool]:
        """The records with the nearest passages, a number from each session, and the similarity of those found otherwise.

        Also returns whether these are all that are near enough to be about the query.
        """
        return self.meaning.near(self.vector, spans, found, most)


class _Table:
    """The vectors of one session, in the order of its records; its capacity grows by half when full."""

    def __init__(self, dimension: int, owner: str) -> None:
        self.last = 0
        self.known: set[int] = set()
        self._dimension = dimension
        self._owner = owner
        self._count = 0
        self._seqs = np.zeros(0, np.int64)
        self._cuts = np.zeros(0, np.int32)
        self._bytes = np.zeros((0, dimension), np.int8)
        self._factors = np.zeros(0, np.float32)
        self._signs = np.zeros((0, -(-dimension // 64)), np.uint64)

    def take(self, given: Iterable[Embedded]) -> None:
        """Add vectors of later records; damaged ones count as not embedded."""
        for seq, kept in given:
            self.last = seq
            data = kept[:-_SUM]
            count, rest = divmod(len(data), self._dimension + 4)
            if rest or kept[-_SUM:] != _sum(data, self._owner, seq):
                continue
            self.known.add(seq)
            self._grow(count)
            here = slice(self._count, self._count + count)
            self._seqs[here], self._cuts[here] = seq, np.arange(count)
            self._bytes[here] = np.frombuffer(data, np.int8, count * self._dimension).reshape(count, self._dimension)
            self._factors[here] = np.frombuffer(data, np.float32, count, count * self._dimension)
            self._signs[here] = _signs(self._bytes[here])
            self._count += count

    def near(
        self, query: NDArray[np.float32], upto: int, also: Sequence[int], most: int, floor: float
    ) -> tuple[dict[int, Near], bool]:
        """The records with the nearest passages, none below the floor, and the similarity of some others; and whether that is all of
        them.
        """
        count = int(np.searchsorted(self._seqs[: self._count], upto, side="right"))
        rows = self._candidates(query, count, max(_ALL, _LOOKED_AT * most))
        cosines = self._cosines(rows, query)
        best = np.argsort(-cosines, kind="stable")[:most]
        is_all = len(best) == count or cosines[best[-1]] < floor
        best = best[cosines[best] >= floor]
        named = [np.arange(*np.searchsorted(self._seqs[:count], (seq, seq + 1))) for seq in also]
        others = np.concatenate([np.zeros(0, np.int64), *named]).astype(np.int64)
        rows, cosines = np.append(rows[best], others), np.append(cosines[best], self._cosines(others, query))
        found: dict[int, Near] = {}
        for at in np.argsort(-cosines, kind="stable"):
            found.setdefault(int(self._seqs[rows[at]]), Near(float(cosines[at]), int(self._cuts[rows[at]])))
        return found, bool(is_all)

    def _candidates(self, query: NDArray[np.float32], count: int, most: int) -> NDArray[np.int64]:
        if count <= most:
            return np.arange(count)
        sign = _signs(query[None, :])[0]
        apart = np.bitwise_count(self._signs[:count] ^ sign).sum(axis=1, dtype=np.int32)
        return np.argpartition(apart, most)[:most]

    def _cosines(self, rows: NDArray[np.int64], query: NDArray[np.float32]) -> NDArray[np.float32]:
        # Not a product of matrices, for which some builds of NumPy start threads that busy-wait.
        products: NDArray[np.float32] = np.einsum("ij,j->i", self._bytes[rows].astype(np.float32), query)
        return products * self._factors[rows]

    def _grow(self, more: int) -> None:
        if self._count + more <= len(self._seqs):
            return
        size = max(self._count + more, len(self._seqs) * 3 // 2)
        for name in ("_seqs", "_cuts", "_bytes", "_factors", "_signs"):
            before: NDArray[Any] = getattr(self, name)
            after = np.zeros((size, *before.shape[1:]), before.dtype)
            after[: self._count] = before[: self._count]
            setattr(self, name, after)


def packed(vectors: NDArray[np.float32], owner: str, seq: int) -> Embedded:
    """The vectors of a record as stored: their bytes, then their factors, then the checksum."""
    largest = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), 1e-9)
    rounded = np.rint(vectors / largest[:, None] * 127).astype(np.int8)
    data = rounded.tobytes() + (largest / 127).astype(np.float32).tobytes()
    return Embedded(seq, data + _sum(data, owner, seq))


def _sum(data: bytes, owner: str, seq: int) -> bytes:
    return crc32(data, crc32(f"{owner} {seq}".encode("utf-8", "surrogatepass"))).to_bytes(_SUM, "big")


def _signs(vectors: NDArray[Any]) -> NDArray[np.uint64]:
    """The signs of each vector as bits, 64 per number."""
    bits = np.packbits(vectors > 0, axis=1)
    padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64)


def _passages(journal: Journal, page: Page) -> list[str] | None:
    """The passages of a page that are embedded; None if they cannot be read now."""
    try:
        message = journal.message(page)
    except StoreError:
        return None
    text = search_text(message) if message is not None else ""
    return [text[start:end] for (start, end), _ in zip(passages_of(text), range(_MOST_PASSAGES), strict=False)]
