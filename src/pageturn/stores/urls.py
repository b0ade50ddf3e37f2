"""Which store a URL means: `:memory:`, `agent.db`, `sqlite:agent.db?durability=normal`."""

from urllib.parse import parse_qsl

from pageturn.errors import InvalidInput
from pageturn.stores.contract import Store
from pageturn.stores.memory import MemoryStore
from pageturn.stores.sqlite import SqliteStore

_DURABILITIES = ("full", "normal")


def open_store(url: str) -> Store:
    """The store behind a URL; a path without a scheme is a SQLite file."""
    if not url or "\0" in url:
        raise InvalidInput("url", expected="':memory:', a path, or sqlite:PATH", got=repr(url))
    if url == ":memory:":
        return MemoryStore()
    scheme, colon, rest = url.partition(":")
    if not colon or len(scheme) < 2 or "/" in scheme or "." in scheme:  # a bare path, or a Windows drive
        rest = url
    elif scheme != "sqlite":
        raise InvalidInput("url", expected="':memory:', a path, or sqlite:PATH", got=repr(url))
    path, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    durability = options.pop("durability", "full")
    if durability not in _DURABILITIES or options:
        expected = f"durability={' or '.join(_DURABILITIES)} and no other option"
        raise InvalidInput("url", expected=expected, got=repr(query))
    return SqliteStore(path.removeprefix("//") if rest is not url else path, durability=durability)
