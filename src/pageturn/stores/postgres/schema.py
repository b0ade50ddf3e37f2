"""The tables, as numbered migrations, and how a database gets those that it lacks.

Everything is in the schema `pageturn` of one database. A migration adds and never takes away what an older program uses, so that
gateways of two versions run beside each other; `needs` says from which migration on a program can work with the tables.
"""

from typing import NamedTuple

from pageturn.stores.postgres.connections import Database
from pageturn.values.errors import InvalidInput, StoreError

_MIGRATING = 0x50414745_00000002  # the advisory lock of whoever migrates
_PARTS = 8  # of the tables that are divided by session


class Migration(NamedTuple):
    """A step: its statements, and the number of the oldest migration that a program must know afterwards."""

    script: str
    needs: int


def _divided(table: str) -> str:
    """The parts of a table that is divided by session."""
    return "".join(
        f"CREATE TABLE pageturn.{table}_{part} PARTITION OF pageturn.{table} FOR VALUES WITH (MODULUS {_PARTS}, REMAINDER {part});\n"
        for part in range(_PARTS)
    )


# `head` and `digest` of a session are those of its last record: an append moves them, if they are still what its writer saw.
# `passages.words` also has the word `@NUMBER` of its session, so that the index itself narrows a search to sessions.
_FIRST = f"""
CREATE TABLE pageturn.sessions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, key bytea NOT NULL,
    created_at bigint NOT NULL, scope text, parent text, parent_seq bigint NOT NULL, parent_digest bytea NOT NULL,
    origin bytea NOT NULL, head bigint NOT NULL, digest bytea NOT NULL
) WITH (fillfactor = 70);
CREATE TABLE pageturn.records (
    session bigint NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, body bytea NOT NULL, chain bytea NOT NULL,
    PRIMARY KEY (session, seq)
) PARTITION BY HASH (session);
{_divided("records")}
CREATE TABLE pageturn.passages (
    session bigint NOT NULL, seq bigint NOT NULL, cut int NOT NULL, words tsvector NOT NULL,
    PRIMARY KEY (session, seq, cut)
) PARTITION BY HASH (session);
{_divided("passages")}
CREATE INDEX passages_words ON pageturn.passages USING gin (words) WITH (gin_pending_list_limit = 512);
CREATE TABLE pageturn.snapshots (
    session bigint PRIMARY KEY, seq bigint NOT NULL, body bytea NOT NULL, digest bytea NOT NULL
);
CREATE TABLE pageturn.blobs (digest text PRIMARY KEY, data bytea NOT NULL);
ALTER TABLE pageturn.blobs ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE pageturn.refs (
    digest text NOT NULL, session bigint NOT NULL, seq bigint NOT NULL, PRIMARY KEY (digest, session, seq)
);
CREATE INDEX refs_of_session ON pageturn.refs (session, seq);
CREATE TABLE pageturn.erased (
    digest text PRIMARY KEY, bytes bigint NOT NULL, session bigint NOT NULL, seq bigint NOT NULL
);
CREATE TABLE pageturn.losses (
    number bigint PRIMARY KEY, session bigint NOT NULL, seq bigint NOT NULL, digest bytea NOT NULL
);
CREATE INDEX losses_of_session ON pageturn.losses (session, seq);
CREATE TABLE pageturn.losses_end (one int PRIMARY KEY CHECK (one = 1), number bigint NOT NULL, digest bytea NOT NULL);
INSERT INTO pageturn.losses_end VALUES (1, 0, decode(repeat('00', 16), 'hex'));
CREATE TABLE pageturn.vectors (
    session bigint NOT NULL, seq bigint NOT NULL, embedder text NOT NULL, data bytea NOT NULL, PRIMARY KEY (session, seq)
);
CREATE TABLE pageturn.sidecars (
    name text NOT NULL, key text NOT NULL, version bigint NOT NULL, body bytea NOT NULL, digest bytea NOT NULL,
    PRIMARY KEY (name, key)
);
CREATE INDEX sidecars_by_version ON pageturn.sidecars (name, version);
CREATE TABLE pageturn.sidecar_digests (name text PRIMARY KEY, total bytea NOT NULL);
CREATE TABLE pageturn.sidecars_end (one int PRIMARY KEY CHECK (one = 1), version bigint NOT NULL);
INSERT INTO pageturn.sidecars_end VALUES (1, 0);
CREATE TEXT SEARCH DICTIONARY pageturn.stem (TEMPLATE = snowball, LANGUAGE = porter);
CREATE TEXT SEARCH CONFIGURATION pageturn.words (PARSER = default);
ALTER TEXT SEARCH CONFIGURATION pageturn.words ADD MAPPING FOR asciiword, word WITH pageturn.stem;
ALTER TEXT SEARCH CONFIGURATION pageturn.words ADD MAPPING FOR numword, int, uint, float, sfloat WITH simple;
"""

MIGRATIONS: tuple[Migration, ...] = (Migration(_FIRST, needs=1),)

TABLES = (
    "sessions",
    "records",
    "passages",
    "snapshots",
    "blobs",
    "refs",
    "erased",
    "losses",
    "losses_end",
    "vectors",
    "sidecars",
    "sidecar_digests",
    "sidecars_end",
)


def prepare(db: Database, name: str, wait_seconds: float, *, create: bool = True) -> None:
    """Give a database the migrations that it lacks; raises for one that this version cannot work with."""
    done = _done(db, name)
    if done == len(MIGRATIONS) or (done > 0 and not create):
        return
    if not create:
        raise InvalidInput("url", expected="a database that has a store", got=f"{name}, which has no schema pageturn")
    with db.transaction():
        db.execute("SELECT set_config('lock_timeout', %s, true)", (str(max(1, round(wait_seconds * 1_000))),))
        db.execute(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
        done = _done(db, name)  # another gateway may have been faster
        if not done:
            _begin(db)
        for number, migration in enumerate(MIGRATIONS[done:], start=done + 1):
            db.execute(migration.script)
            db.execute("INSERT INTO pageturn.migrations(number, needs) VALUES (%s, %s)", (number, migration.needs))


def _begin(db: Database) -> None:
    # IF NOT EXISTS would ask for the right to create schemas even where an administrator has created it.
    if db.execute("SELECT to_regnamespace('pageturn')").fetchone() == (None,):
        db.execute("CREATE SCHEMA pageturn")
    db.execute(
        "CREATE TABLE pageturn.migrations"
        " (number int PRIMARY KEY, needs int NOT NULL, at timestamptz NOT NULL DEFAULT now())"
    )


def _done(db: Database, name: str) -> int:
    """How many of our migrations a database has."""
    if db.execute("SELECT to_regclass('pageturn.migrations')").fetchone() == (None,):
        return 0
    last, needs = db.execute(
        "SELECT coalesce(max(number), 0), coalesce(max(needs), 0) FROM pageturn.migrations"
    ).fetchall()[0]
    if needs > len(MIGRATIONS):
        newest = f"its tables need migration {needs}, this one knows {len(MIGRATIONS)}"
        raise StoreError(f"{name}: changed by a newer pageturn ({newest}): update pageturn")
    return min(int(last), len(MIGRATIONS))
