"""The journal: durable appends beside raw SQLite writing the same rows, opening, recalling, memory."""

import random
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, quantiles
from time import perf_counter

from rich.console import Console
from rich.table import Table

import pageturn as pt
from benchmarks.values import sample_messages
from pageturn.stores import LAST, Batch, Loss, Record, SqliteStore, open_store
from pageturn.stores.index import EVERY
from pageturn.stores.tables import FORMATS, rechain
from pageturn.stores.words import hidden_parts
from pageturn.values.entries import BoundaryCrossed, BoundaryKind
from pageturn.values.json import to_json

APPENDS = 640
ROUNDS = 5
PAGES = 100_000
QUERIES = 300
ASKED_PAGES = 200
ASKED = 2_000
ERASED = 1_000
OPENED = to_json(BoundaryCrossed(kind=BoundaryKind.SAVE))  # an entry that changes nothing


def show(console: Console) -> None:
    with tempfile.TemporaryDirectory() as folder:
        appends(console, Path(folder))
        erasures(console, Path(folder))
        long_session(console, Path(folder) / "long.db")


def appends(console: Console, folder: Path) -> None:
    messages = sample_messages()[:APPENDS]
    recorded = recorded_batches(messages, folder / "recorded.db")
    table = Table(
        title=f"Append: {APPENDS} messages of about 600 bytes, one transaction each, mean of the best round",
        title_justify="left",
    )
    columns = ("durability", "session, us", "store alone, us", "raw SQLite, us", "session against raw", "goal")
    for column in (*columns, "raw that batches its index, us", "session against that"):
        table.add_column(column, justify="left" if column == "durability" else "right")
    for durability in ("full", "normal"):
        rounds = []
        for number in range(ROUNDS):  # the three take turns, so that a busy moment hits all of them
            files = [folder / f"{durability}{number}{kind}.db" for kind in "abcd"]
            rounds.append(
                (
                    append_by_session(messages, files[0], durability),
                    append_by_store(recorded, files[1], durability),
                    append_raw(recorded, files[2], durability),
                    append_raw(recorded, files[3], durability, index_every=EVERY),
                )
            )
        whole, store, raw, batched = (min(means) * 1e6 for means in zip(*rounds, strict=True))
        name = "fsync at every commit" if durability == "full" else "no fsync"
        table.add_row(
            name,
            f"{whole:.0f}",
            f"{store:.0f}",
            f"{raw:.0f}",
            f"{raw / whole:.0%} of its rate",
            "80%",
            f"{batched:.0f}",
            f"{batched / whole:.0%}",
        )
    console.print(table)


def erasures(console: Console, folder: Path) -> None:
    table = Table(title="derive: asking the store whether something was erased", title_justify="left")
    for column in ("store", "erased before", "asking, us", "a derive between folds, us", "resolving a page, us"):
        table.add_column(column, justify="left" if column == "store" else "right")
    for kind in ("memory", "file"):
        url = ":memory:" if kind == "memory" else f"sqlite:{folder / 'erasures.db'}?durability=normal"
        store = open_store(url)
        session = pt.Session.open(store, id="s")
        session.extend([pt.system("Be careful."), pt.user("Fix it.")])
        for number in range(ASKED_PAGES):
            session.append(pt.user(f"page {number} " * 50))
        session.derive()
        page = session.reader.pages()[-1]
        for erased in (0, ERASED):
            for number in range(erased):
                loss = Loss("s", LAST - number, ())
                store.erase("s", store.session("s").head, Record(store.session("s").head + 1, 0, OPENED), [loss])  # type: ignore[union-attr]
            session.refresh()
            session.derive()
            asking, deriving, reading = (
                mean(sorted(timed(work) for _ in range(ASKED))[: ASKED // 2]) * 1e6
                for work in (store.erasures, session.derive, lambda: session.resolve(page))  # noqa: B023
            )
            table.add_row(kind, f"{erased:,}", f"{asking:.1f}", f"{deriving:.0f}", f"{reading:.0f}")
        session.close()
    console.print(table)


class RecordingStore(SqliteStore):
    """Keeps what it is asked to write, so that others can write the same."""

    def __init__(self, path: str) -> None:
        super().__init__(path, durability="normal")
        self.batches: list[Batch] = []

    def append(self, session: str, after: int, batch: Batch) -> None:
        super().append(session, after, batch)
        self.batches.append(batch)


def recorded_batches(messages: Sequence[pt.Message], path: Path) -> list[Batch]:
    store = RecordingStore(str(path))
    session = pt.Session.open(store, id="s")
    store.batches.clear()
    for message in messages:
        session.append(message)
    return store.batches


def append_by_session(messages: Sequence[pt.Message], path: Path, durability: str) -> float:
    session = pt.Session.open(f"sqlite:{path}?durability={durability}", id="s")
    session.append(messages[0])
    return mean(timed(lambda: session.append(message)) for message in messages)  # noqa: B023


def append_by_store(batches: Sequence[Batch], path: Path, durability: str) -> float:
    store = SqliteStore(str(path), durability=durability)
    pt.Session.open(store, id="s")
    head = batches[0].records[0].seq - 1
    store._connection.execute("DELETE FROM records WHERE seq <= ?", (head,))  # noqa: SLF001
    store._connection.execute("UPDATE sessions SET parent_seq = ?", (head,))  # noqa: SLF001
    rechain(store._connection, [1])  # noqa: SLF001
    times = []
    for batch in batches:
        times.append(timed(lambda: store.append("s", head, batch)))  # noqa: B023
        head += len(batch.records)
    return mean(times)


def append_raw(batches: Sequence[Batch], path: Path, durability: str, *, index_every: int = 1) -> float:
    """The same rows by hand, indexed as they come or many at once: no compare-and-swap, no values, only the statements."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"PRAGMA synchronous = {durability}")
    db.executescript("".join(script for script, _ in FORMATS))
    parts = {text: hidden_parts(text) for batch in batches for _, text in batch.documents}
    times = []
    for number, batch in enumerate(batches, start=1):
        is_last = number % index_every == 0
        times.append(timed(lambda: write_raw(db, batch, parts, waits=index_every > 1, indexes=is_last)))  # noqa: B023
    db.close()
    return mean(times)


def write_raw(db: sqlite3.Connection, batch: Batch, parts: Mapping[str, str], *, waits: bool, indexes: bool) -> None:
    references = [(digest, seq) for seq, digest in batch.references]
    db.execute("BEGIN IMMEDIATE")
    db.executemany("INSERT INTO records VALUES (1,?,?,?,NULL)", batch.records)
    db.executemany("INSERT OR IGNORE INTO blobs VALUES (?,?)", batch.blobs.items())
    db.executemany("INSERT OR IGNORE INTO refs VALUES (?,1,?)", references)
    words: list[tuple[int, str]] = list(batch.documents)
    if waits:
        db.executemany("INSERT INTO unindexed VALUES (?,?)", words)
        words = db.execute("SELECT row, text FROM unindexed").fetchall() if indexes else []
        if indexes:
            db.execute("DELETE FROM unindexed")
    rows = [(seq, text, parts[text]) for seq, text in words]
    db.executemany("INSERT INTO words(rowid, text, parts) VALUES (?,?,?)", rows)
    db.execute("COMMIT")


def long_session(console: Console, path: Path) -> None:
    console.print(f"[dim]writing a session of {PAGES:,} messages ...[/]")
    write_long(f"sqlite:{path}?durability=normal")
    table = Table(title=f"A session of {PAGES:,} messages, {path.stat().st_size / 1e6:.0f} MB", title_justify="left")
    for column in ("", "measured", "goal"):
        table.add_column(column, justify="left" if not column else "right")
    read = min(timed(path.read_bytes) for _ in range(5))
    opened = min(timed(lambda: open_long(path)) for _ in range(5))
    table.add_row("open", f"{opened * 1e3:.0f} ms", "300 ms")
    table.add_row("  against reading the file", f"{opened / read:.1f}x", "")
    times = sorted(recall_times(open_long(path)))
    table.add_row(f"recall, p50 of {QUERIES} queries", f"{times[len(times) // 2] * 1e3:.2f} ms", "5 ms")
    table.add_row("recall, p99", f"{quantiles(times, n=100)[98] * 1e3:.2f} ms", "50 ms")
    if Path("/proc/self/statm").exists():
        table.add_row("memory of 10,000 pages", f"{memory_per_page(path) * 10_000 / 1e6:.1f} MB", "")
    console.print(table)


def write_long(url: str) -> None:
    chance = random.Random(2)
    vocabulary = [
        f"{chance.choice(WORDS)}_{number}" if number % 3 else f"src/{chance.choice(WORDS)}/file{number}.py"
        for number in range(20_000)
    ]
    with pt.Session.open(url, id="long") as session:
        for batch in range(PAGES // 1_000):
            messages: list[pt.Message] = []
            for number in range(250):
                call = pt.ToolCall(id=f"c{batch}_{number}", name="bash", arguments='{"command":"grep"}')
                body = " ".join(chance.choices(WORDS, k=20) + chance.choices(vocabulary, k=6))
                messages += [
                    pt.user(body),
                    pt.assistant(call),
                    pt.tool_result(call, body),
                    pt.assistant("done " + body[:60]),
                ]
            session.extend(messages)


WORDS = (
    "error login token session service request failed path value index module import class return build config".split()
)


def open_long(path: Path) -> pt.Session:
    return pt.Session.open(str(path), id="long")


def recall_times(session: pt.Session) -> list[float]:
    return [timed(lambda: session.recall(query)) for query in queries()]  # noqa: B023


def queries() -> Iterator[str]:
    """Two to five words, some common and one or two that are rare."""
    chance = random.Random(3)
    for _ in range(QUERIES):
        rare = [f"{chance.choice(WORDS)}_{chance.randrange(20_000)}" for _ in range(chance.randint(1, 2))]
        yield " ".join(rare + chance.choices(WORDS, k=chance.randint(1, 3)))


def timed(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def memory_per_page(path: Path) -> float:
    """What a fresh process grows by when it opens the session, in bytes a page."""
    program = (
        "import gc, resource, sys, pageturn\n"
        "def resident(): return int(open('/proc/self/statm').read().split()[1]) * resource.getpagesize()\n"
        "pageturn.Session.open(); before = resident()\n"
        "session = pageturn.Session.open(sys.argv[1], id='long'); gc.collect()\n"
        "print((resident() - before) / len(session.reader.pages()))\n"
    )
    shown = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    return float(shown.stdout)
