"""Damage: one random change of a store's file, and what its sessions give after it."""

import json
import shutil
import sqlite3

import pageturn as pt
from pageturn.formats import openai_chat
from pageturn.journal.doctor import examine
from pageturn.journal.repair import repair
from pageturn.routing.stored_state import examine_beliefs
from pageturn.stores import SqliteStore
from tests.sessions import Clock
from tests.stores.written import QUERIES, SCOPES, SESSIONS

PAGE = 4_096
# What a row can lose or swap. The index is SQLite's own tables.
TABLES = (
    "sessions", "records", "snapshots", "blobs", "erased", "refs", "losses", "losses_end", "names", "unindexed", "sidecars", "stale", "embedders", "vectors",
    "words_data", "words_idx", "words_docsize", "words_config",
)  # fmt: skip
OURS = ("sessions", "records", "records", "records", "snapshots", "blobs", "blobs", "losses", "names", "refs")


def damage(path, rng):
    """Change something; says what."""
    return rng.choice([_byte, _byte, _bytes, _page, _remove, _swap, _alter, _alter])(path, rng)


def _byte(path, rng):
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data)) if rng.random() < 0.9 else rng.randrange(200)
    before = data[at]
    data[at] = rng.choice([before ^ 1 << rng.randrange(8), rng.randrange(256), 0, 255])
    path.write_bytes(data)
    return f"byte {at}: {before} -> {data[at]}"


def _bytes(path, rng):
    data = bytearray(path.read_bytes())
    at, length = rng.randrange(len(data)), rng.randrange(2, 64)
    data[at : at + length] = rng.randbytes(len(data[at : at + length]))
    path.write_bytes(data)
    return f"{length} bytes at {at}"


def _page(path, rng):
    data = bytearray(path.read_bytes())
    number = rng.randrange(len(data) // PAGE)
    other = rng.randrange(len(data) // PAGE)
    filling = rng.choice([bytes(PAGE), rng.randbytes(PAGE), data[other * PAGE : (other + 1) * PAGE]])
    data[number * PAGE : (number + 1) * PAGE] = filling
    path.write_bytes(data)
    return f"page {number + 1}"


def _rows(db, table):
    keys = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[5]] or ["rowid"]
    return keys, db.execute(f"SELECT {', '.join(keys)} FROM {table}").fetchall()


def _connected(path, work):
    db = sqlite3.connect(path, isolation_level=None)
    try:
        return work(db)
    except sqlite3.Error as error:  # a constraint that forbids this one
        return f"nothing: {error}"
    finally:
        db.close()


def _remove(path, rng):
    def work(db):
        table = rng.choice([*TABLES, *OURS])
        keys, rows = _rows(db, table)
        if not rows:
            return "nothing"
        at = rng.randrange(len(rows))
        gone = rows[at : at + rng.choice([1, 1, 1, 3, 1_000])]
        wanted = " AND ".join(f"{key} = ?" for key in keys)
        db.executemany(f"DELETE FROM {table} WHERE {wanted}", gone)
        return f"removed {gone[:3]} of {table}"

    return _connected(path, work)


def _swap(path, rng):
    def work(db):
        table = rng.choice([*TABLES, *OURS])
        keys, rows = _rows(db, table)
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] not in keys]
        if len(rows) < 2 or not columns:
            return "nothing"
        one, other = rng.sample(rows, 2)
        swapped = columns if rng.random() < 0.5 else [rng.choice(columns)]
        wanted = " AND ".join(f"{key} = ?" for key in keys)
        first, second = (
            db.execute(f"SELECT {', '.join(swapped)} FROM {table} WHERE {wanted}", key).fetchone()
            for key in (one, other)
        )
        setting = f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in swapped)} WHERE {wanted}"
        db.execute(setting, (*second, *one))
        db.execute(setting, (*first, *other))
        return f"swapped {swapped} of {one} and {other} in {table}"

    return _connected(path, work)


def _alter(path, rng):
    def work(db):
        table = rng.choice([*TABLES, *OURS])
        keys, rows = _rows(db, table)
        if not rows:
            return "nothing"
        one = rng.choice(rows)
        column = rng.choice([row[1] for row in db.execute(f"PRAGMA table_info({table})")])
        wanted = " AND ".join(f"{key} = ?" for key in keys)
        value = db.execute(f"SELECT {column} FROM {table} WHERE {wanted}", one).fetchone()[0]
        db.execute(f"UPDATE {table} SET {column} = ? WHERE {wanted}", (_other(value, rng), *one))
        return f"altered {column} of {one} in {table}"

    return _connected(path, work)


def _other(value, rng):
    """Another value in the place of one: near it, or of another type."""
    if rng.random() < 0.3:
        return rng.choice([None, "text", b"bytes", 0, -1, 2**62, 1.5, "", b""])
    match value:
        case int():
            return value + rng.choice([-1, 1, 1_000])
        case str() if value:
            at = rng.randrange(len(value))
            return value[:at] + rng.choice("aZ0é") + value[at + 1 :]
        case bytes() if value:
            at = rng.randrange(len(value))
            return value[:at] + bytes([rng.randrange(256)]) + value[at + 1 :]
    return "text"


def given(path):
    """What the sessions of a file give: for each the bytes of its context, or the error or faults that stand for them."""
    told, found = {}, {}
    try:
        store = SqliteStore(str(path), durability="off", wait_seconds=0.2)
    except pt.PageturnError as error:
        told = dict.fromkeys((*SESSIONS, "router"), f"error: {error}")
        return told | {"found": {id: {} for id in SESSIONS}, "doctor": [str(error)]}
    try:
        findings = [finding.what for finding in examine(store, also=[examine_beliefs])]
    except pt.PageturnError as error:
        findings = [str(error)]
    try:
        for id in SESSIONS:
            found[id], told[id] = _session(store, id)
        told["router"] = _choices(store)
    finally:
        store.close()
    return told | {"found": found, "doctor": findings}


def repaired(path):
    """What is left to say of a file after a repair: an error where it could not be repaired."""
    try:
        store = SqliteStore(str(path), durability="off", wait_seconds=0.2)
    except pt.PageturnError as error:
        return f"error: {error}"
    try:
        backup = repair(store).backup
    except pt.StoreError as error:
        return f"error: {error}"
    finally:
        store.close()
        for copy in path.parent.glob(f"{path.name}.before-repair-*"):
            copy.unlink()
    return backup


def _session(store, id):
    """What its searches find, and its context."""
    try:
        session = pt.Session.open(store, id=id, scope=SCOPES.get(id))
    except pt.PageturnError as error:
        return {}, f"error: {error}"
    before = len(session.reader.faults())
    found = {query: _found(session, query) for query in QUERIES}
    for page in session.reader.pages():
        outcome = session.resolve(page)
        assert isinstance(outcome, pt.Resolved | pt.Fault)
    try:
        list(session.reader.messages())
        context = session.derive()
        words = json.dumps(openai_chat.dump(context), ensure_ascii=False)
    except pt.PageturnError as error:
        return found, f"error: {error}"
    if context.faults or len(session.reader.faults()) > before + len(QUERIES):
        return found, f"faults: {context.faults or session.reader.faults()[before:]}"
    return found, words


def _found(session, query):
    """The pages that a search finds; None where it says that it cannot. The order may be another in an index that was built anew."""
    outcome = session.recall(query, 50)
    assert isinstance(outcome, pt.Recalled | pt.Fault)
    if isinstance(outcome, pt.Recalled):
        return {hit.handle for hit in outcome.hits} | {*outcome.damaged}
    return set() if outcome.code == "no_match" else None


def _choices(store):
    """Which agents the router chooses, by what it has learned."""
    try:
        router = pt.Router.open(store, "garden", clock=Clock(), rng=7)
        return " ".join(router.choose(["a", "b"]).choice for _ in range(20))
    except pt.PageturnError as error:
        return f"error: {error}"


def copied(path, to):
    shutil.copy(path, to)
    return to


def execute(path, *statements):
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()
