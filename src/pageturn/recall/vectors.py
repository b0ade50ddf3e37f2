"""Searches passages by what they mean: exactly, over vectors of eight bits that the store keeps. Needs NumPy.

A vector of unit length is kept as signed bytes and the factor that scales them back: 388 bytes for 384 numbers. Among very many, those
whose signs differ least from the query's are looked at, and then scored by their bytes.
"""

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pageturn.journal.journal import Journal
from pageturn.recall.embedders.contract import Embedder, EmbedderFailed
from pageturn.stores import Embedded, Span, VectorStore
from pageturn.values.cuts import cuts
from pageturn.values.errors import PageturnError, StoreError
from pageturn.values.pages import Page
from pageturn.values.search_text import search_text

_NEAREST = 256  # passages of a session that are given
_ALL = 2_048  # passages that are all scored; of more, so many are that are nearest by their signs
_MOST_PASSAGES = 200  # of one page that are embedded: the rest of a very long one is found by words
_AT_ONCE = 64  # passages that are embedded and kept at a time


class Near(NamedTuple):
    """How near the nearest passage of a record is: a cosine, and which it is."""

    cosine: float
    passage: int


class Meaning:
    """The vectors of sessions by one embedder: searches them, and makes those that are missing."""

    def __init__(self, store: VectorStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._lock = Lock()
        self._tables: dict[str, _Table] = {}

    def near(
        self, spans: Sequence[Span], query: str, also: Iterable[tuple[str, int]] = ()
    ) -> dict[tuple[str, int], Near]:
        """The records of these spans that are nearest to a query, and how near others are, by session and number."""
        asked = self._embed([query])[0]
        named: dict[str, list[int]] = {}
        for session, seq in also:
            named.setdefault(session, []).append(seq)
        found: dict[tuple[str, int], Near] = {}
        for span in spans:
            with self._lock:
                table = self._table(span.session)
                found |= {
                    (span.session, seq): near
                    for seq, near in table.near(asked, span.upto, named.get(span.session, ())).items()
                }
        return found

    def embed(self, journal: Journal, is_stopped: Callable[[], bool] = lambda: False) -> int:
        """Make the vectors that a session and its parents lack, and keep them; how many pages had none.

        What is kept stays, whatever stops it: the next time goes on from there.
        """
        count = 0
        for session, pages in self._missing(journal).items():
            waiting: list[tuple[int, list[str]]] = []
            for at, page in enumerate(pages, start=1):
                if is_stopped():
                    return count
                waiting.append((page.seq, _passages(journal, page)))
                if at == len(pages) or sum(len(texts) for _, texts in waiting) >= _AT_ONCE:
                    self._keep(session, waiting)
                    count += len(waiting)
                    waiting = []
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

    def _keep(self, session: str, waiting: Sequence[tuple[int, list[str]]]) -> None:
        texts = [text for _, each in waiting for text in each]
        vectors = self._embed(texts) if texts else np.zeros((0, self._embedder.dimension), np.float32)
        kept, first = [], 0
        for seq, each in waiting:
            kept.append(Embedded(seq, packed(vectors[first : first + len(each)])))
            first += len(each)
        self._store.keep_vectors(session, self._embedder.name, kept)
        with self._lock:
            if session in self._tables and kept[0].seq <= self._tables[session].last:
                del self._tables[session]  # which only looks for later ones

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
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
        return vectors

    def _table(self, session: str) -> "_Table":
        table = self._tables.setdefault(session, _Table(self._embedder.dimension))
        table.take(self._store.vectors(session, self._embedder.name, table.last))
        return table


class _Table:
    """The vectors of one session, in the order of its records; it grows by half when it is full."""

    def __init__(self, dimension: int) -> None:
        self.last = 0
        self.known: set[int] = set()
        self._dimension = dimension
        self._count = 0
        self._seqs = np.zeros(0, np.int64)
        self._cuts = np.zeros(0, np.int32)
        self._bytes = np.zeros((0, dimension), np.int8)
        self._factors = np.zeros(0, np.float32)
        self._signs = np.zeros((0, -(-dimension // 64)), np.uint64)

    def take(self, given: Iterable[Embedded]) -> None:
        """Take in vectors of later records; what is damaged counts as not embedded."""
        for seq, data in given:
            self.last = seq
            count, rest = divmod(len(data), self._dimension + 4)
            if rest:
                continue
            self.known.add(seq)
            self._grow(count)
            here = slice(self._count, self._count + count)
            self._seqs[here], self._cuts[here] = seq, np.arange(count)
            self._bytes[here] = np.frombuffer(data, np.int8, count * self._dimension).reshape(count, self._dimension)
            self._factors[here] = np.frombuffer(data, np.float32, count, count * self._dimension)
            self._signs[here] = _signs(self._bytes[here])
            self._count += count

    def near(self, asked: NDArray[np.float32], upto: int, also: Sequence[int]) -> dict[int, Near]:
        """The records whose passages are nearest, and how near some others are."""
        count = int(np.searchsorted(self._seqs[: self._count], upto, side="right"))
        rows = self._candidates(asked, count)
        cosines = self._cosines(rows, asked)
        best = np.argsort(-cosines, kind="stable")[:_NEAREST]
        named = [np.arange(*np.searchsorted(self._seqs[:count], (seq, seq + 1))) for seq in also]
        others = np.concatenate([np.zeros(0, np.int64), *named]).astype(np.int64)
        rows, cosines = np.append(rows[best], others), np.append(cosines[best], self._cosines(others, asked))
        found: dict[int, Near] = {}
        for at in np.argsort(-cosines, kind="stable"):
            found.setdefault(int(self._seqs[rows[at]]), Near(float(cosines[at]), int(self._cuts[rows[at]])))
        return found

    def _candidates(self, asked: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        if count <= _ALL:
            return np.arange(count)
        sign = _signs(asked[None, :])[0]
        apart = np.bitwise_count(self._signs[:count] ^ sign).sum(axis=1, dtype=np.int32)
        return np.argpartition(apart, _ALL)[:_ALL]

    def _cosines(self, rows: NDArray[np.int64], asked: NDArray[np.float32]) -> NDArray[np.float32]:
        # Not a product of matrices, for which some builds of NumPy start threads that busy-wait.
        products: NDArray[np.float32] = np.einsum("ij,j->i", self._bytes[rows].astype(np.float32), asked)
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


def packed(vectors: NDArray[np.float32]) -> bytes:
    """Vectors as they are kept: their bytes, and then their factors."""
    largest = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), 1e-9)
    rounded = np.rint(vectors / largest[:, None] * 127).astype(np.int8)
    return b"".join([rounded.tobytes(), (largest / 127).astype(np.float32).tobytes()])


def _signs(vectors: NDArray[Any]) -> NDArray[np.uint64]:
    """Which numbers of each vector are above zero, 64 of them to a number."""
    bits = np.packbits(vectors > 0, axis=1)
    padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64)


def _passages(journal: Journal, page: Page) -> list[str]:
    """The passages of a page that are embedded; none where it has no words, or they cannot be read."""
    try:
        message = journal.message(page)
    except StoreError:
        return []
    text = search_text(message) if message is not None else ""
    return [text[start:end] for (start, end), _ in zip(cuts(text), range(_MOST_PASSAGES), strict=False)]
