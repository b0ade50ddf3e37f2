"""Opens the store that a URL names: `:memory:`, `agent.db`, `sqlite:agent.db?durability=normal`, `postgresql://host/database`."""

import math
import os
from urllib.parse import parse_qsl

from pageturn.stores.memory import MemoryStore
from pageturn.stores.ports import FullStore
from pageturn.stores.read_only import ReadOnlyStore
from pageturn.stores.sqlite import SqliteStore
from pageturn.stores.sqlite_file import WAIT_SECONDS
from pageturn.values.checks import require_finite
from pageturn.values.errors import InvalidInput, MissingExtra, show

_DURABILITIES = ("full", "normal")
_SERVERS = ("postgresql://", "postgres://")
_EXPECTED = "':memory:', a path, sqlite:PATH, or postgresql://HOST/DATABASE"


def open_store(
    url: str, *, wait_seconds: float | None = None, create: bool = True, read_only: bool = False
) -> FullStore:
    """The store of a URL; a path without a scheme is a SQLite file.

    `wait_seconds` is how long a write waits for another writer before it raises `Busy`; 0 means not at all. It may also be in the URL,
    which applies if the argument is not given. If `create` is False, a file or a database without a store is an error. A store that is opened
    `read_only` cannot be written, not even by a search that would index what it finds.
    """
    if wait_seconds is not None:
        require_finite("wait_seconds", wait_seconds, at_least=0)
    if not isinstance(url, str) or not url or "\0" in url or not _is_text(url):
        raise InvalidInput("url", expected=_EXPECTED, got=show(url))
    if is_postgres(url):
        return _postgres_store(url, wait_seconds=wait_seconds, create=create, read_only=read_only)
    if url == ":memory:" and not read_only:
        return MemoryStore()
    scheme, colon, rest = url.partition(":")
    if not colon or len(scheme) < 2 or "/" in scheme or "." in scheme:  # a bare path, or a Windows drive
        rest = url
    elif scheme != "sqlite":
        raise InvalidInput("url", expected=_EXPECTED, got=show(url))
    path, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    durability = options.pop("durability", "full")
    waited = _seconds(options.pop("wait_seconds", f"{WAIT_SECONDS}"))
    if durability not in _DURABILITIES or waited is None or options:
        expected = f"durability={' or '.join(_DURABILITIES)}, wait_seconds=0 or more, and no other option"
        raise InvalidInput("url", expected=expected, got=show(query))
    path = path.removeprefix("//") if rest is not url else path
    if (read_only or not create) and not os.path.isfile(path):  # noqa: PTH113
        raise InvalidInput("url", expected="the file of a store", got=f"{path!r}, which is not there")
    if read_only:
        return ReadOnlyStore(path)
    return SqliteStore(
        path,
        durability=durability,
        wait_seconds=waited if wait_seconds is None else wait_seconds,
    )


def is_postgres(url: str) -> bool:
    """Whether a URL is that of a PostgreSQL database. It may have a password, so it must not be shown."""
    return url.startswith(_SERVERS)


def shown(url: str) -> str:
    """A URL for a message: that of a database without user, password and options."""
    if not is_postgres(url):
        return url
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


def _postgres_store(url: str, *, wait_seconds: float | None, create: bool, read_only: bool) -> FullStore:
    try:
        from pageturn.stores.postgres import PostgresStore  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtra("a store in PostgreSQL", extra="postgres") from error
    return PostgresStore(url, wait_seconds=wait_seconds, create=create, read_only=read_only)


def path_of(url: str | os.PathLike[str]) -> str:
    """A URL or a path as text."""
    if not isinstance(url, str | os.PathLike):
        raise InvalidInput("url", expected="a URL, a path or a store", got=show(url))
    return os.fspath(url)


def _is_text(url: str) -> bool:
    """Whether a URL has no surrogates other than those that Python itself puts into file names."""
    try:
        os.fsencode(url)
    except UnicodeEncodeError:
        return False
    return True


def _seconds(text: str) -> float | None:
    """A time in a URL; None if it is not a valid one."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
