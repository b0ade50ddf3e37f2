"""A store of your own from nothing: all that a session needs (`pageturn.stores.Store`), in dictionaries, for one thread at a time."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from pageturn.stores import LAST, Batch, Found, Freed, Loss, Record, SessionRow, Snapshot, Span
from pageturn.stores.words import hidden_parts, is_beginning, parts_of, terms
from pageturn.testing import check_store
from pageturn.values.errors import Conflict, StoreError


class DictStore:
    def __init__(self) -> None:
        self.rows: dict[str, SessionRow] = {}
        self.kept: dict[str, list[Record]] = {}
        self.texts: dict[tuple[str, int], str] = {}
        self.data: dict[str, bytes] = {}
        self.needed: set[tuple[str, int, str]] = set()  # session, record, blob
        self.lost: list[tuple[int, Loss]] = []  # with the number of the erasure
        self.snapshots: dict[str, Snapshot] = {}

    def create(self, row: SessionRow) -> None:
        if row.id in self.rows:
            raise Conflict(f"session {row.id!r} exists already: choose another id")
        self.rows[row.id] = row._replace(head=row.parent_seq)  # a fork continues the records of its parent
        self.kept[row.id] = []

    def session(self, session: str) -> SessionRow | None:
        return self.rows.get(session)

    def sessions(self, *, scope: str | None = None) -> list[SessionRow]:
        rows = [row for row in self.rows.values() if scope in (None, row.scope)]
        return sorted(rows, key=lambda row: -row.created_at)

    def append(self, session: str, after: int, batch: Batch) -> None:
        numbers = [record.seq for record in batch.records]
        if session not in self.rows or numbers != list(range(after + 1, after + 1 + len(numbers))):
            raise StoreError(f"session {session!r}: expected an existing session and records from {after + 1} on")
        if self.rows[session].head != after:
            raise Conflict(f"session {session!r} has more than {after} records", missed=self.records(session, after))
        self.kept[session] += batch.records
        self.rows[session] = self.rows[session]._replace(head=after + len(numbers))
        self.data |= batch.blobs
        self.texts |= {(session, seq): text for seq, text in batch.documents}
        self.needed |= {(session, seq, digest) for seq, digest in batch.references}

    def records(self, session: str, after: int = 0, upto: int = LAST) -> Iterator[Record]:
        return (record for record in self.kept.get(session, ()) if after < record.seq <= upto)

    def snapshot(self, session: str) -> Snapshot | None:
        return self.snapshots.get(session)

    def keep_snapshot(self, session: str, snapshot: Snapshot) -> None:
        self.snapshots[session] = snapshot

    def blob(self, digest: str, start: int = 0, length: int | None = None) -> bytes | None:
        data = self.data.get(digest)
        return data if data is None else data[start : None if length is None else start + length]

    def search(self, spans: Sequence[Span], query: str, limit: int, *, every: bool = False) -> list[Found]:
        upto = dict(spans)
        texts = {
            at: _words(f"{text} {hidden_parts(text)}") for at, text in self.texts.items() if at[1] <= upto.get(at[0], 0)
        }
        score = dict.fromkeys(texts, 0.0)
        for term in terms(query):
            hits = [at for at, words in texts.items() if _has(words, term)]
            if not hits and parts_of(term):  # a name that occurs nowhere as a whole
                hits = [at for at, words in texts.items() if all(_has(words, part) for part in parts_of(term))]
            for at in hits:
                score[at] += 1 / len(hits)
        return sorted((Found(*at, worth) for at, worth in score.items() if worth), key=lambda each: -each.score)[:limit]

    def erase(self, session: str, after: int, record: Record, losses: Sequence[Loss]) -> Freed:
        self.append(session, after, Batch([record]))
        number = self.erasures() + 1
        self.lost += [(number, loss) for loss in losses]
        for loss in losses:
            self.texts.pop((loss.session, loss.seq), None)
            self.needed -= {(loss.session, loss.seq, digest) for digest in loss.digests}
        still = {digest for _, _, digest in self.needed}
        freed = [
            self.data.pop(each) for loss in losses for each in loss.digests if each in self.data and each not in still
        ]
        return Freed(len(freed), sum(map(len, freed)))

    def erasures(self) -> int:
        return self.lost[-1][0] if self.lost else 0

    def erased(self, spans: Sequence[Span], after: int = 0) -> set[int]:
        upto = dict(spans)
        return {loss.seq for number, loss in self.lost if number > after and loss.seq <= upto.get(loss.session, 0)}

    def is_erased(self, digest: str) -> bool:
        return digest not in self.data and any(digest in loss.digests for _, loss in self.lost)

    def scrub(self) -> None: ...

    def at_once(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None: ...


def _words(text: str) -> str:
    """The words of a text, stemmed a little, with a space around each."""
    words = re.findall(r"[^\W_]+", text.lower())
    return f" {' '.join(re.sub('(ing|es|s)$', '', word) for word in words)} "


def _has(words: str, term: str) -> bool:
    """Whether a term is among words; a single character of a script without spaces may be the beginning of one."""
    return (_words(term).rstrip() if is_beginning(term) else _words(term)) in words


if __name__ == "__main__":
    check_store(DictStore, lambda store: store)
