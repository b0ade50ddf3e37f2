"""Reads the URL of a PostgreSQL store: where the database is, our own options, and the name that messages have for it."""

import math
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from pageturn.values.errors import InvalidInput, show

_OPTIONS = {"wait_seconds": 5.0, "statement_seconds": 60.0, "connections": 8.0}
_MOST = {"wait_seconds": 86_400.0, "statement_seconds": 86_400.0, "connections": 1_000.0}
# What libpq does if the URL says nothing else: a server that cannot be reached is noticed in seconds, not in hours.
_DEFAULTS = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "application_name": "pageturn",
}


class Address(NamedTuple):
    """What a URL says."""

    parameters: dict[str, Any]  # for libpq; the password is here and nowhere else
    name: str  # the URL without password and options
    wait_seconds: float
    statement_seconds: float  # how long a statement may run, except those of the doctor and of a vacuum
    connections: int  # at most

    def hidden(self, text: str) -> str:
        """A text without the password."""
        password = self.parameters.get("password")
        return text.replace(password, "***") if password else text


def read(url: str, wait_seconds: float | None) -> Address:
    """The address of a URL; `wait_seconds` replaces what the URL says."""
    base, _, query = url.partition("?")
    own, others = dict(_OPTIONS), []
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name in own:
            own[name] = _number(name, value)
        else:
            others.append((name, value))
    try:
        given = conninfo_to_dict(f"{base}?{urlencode(others)}" if others else base)
    except ProgrammingError:
        # libpq's message may quote the password.
        expected = f"postgresql://USER:PASSWORD@HOST:PORT/DATABASE?OPTIONS, with options of libpq or {', '.join(own)}"
        raise InvalidInput("url", expected=expected, got="a URL that libpq cannot read") from None
    return Address(
        {**_DEFAULTS, **given},
        _name(given),
        own["wait_seconds"] if wait_seconds is None else wait_seconds,
        own["statement_seconds"],
        int(own["connections"]),
    )


def _number(name: str, text: str) -> float:
    """The number that an option has; the wait may be 0, the others not."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    is_whole = name != "connections" or number == int(number) if math.isfinite(number) else False
    least = 0.0 if name == "wait_seconds" else 0.001
    if not (is_whole and least <= number <= _MOST[name]):
        kind = "a whole number above 0" if name == "connections" else "a number of seconds"
        raise InvalidInput(f"url, {name}", expected=f"{kind}, up to {_MOST[name]:g}", got=show(text))
    return number


def _name(given: dict[str, Any]) -> str:
    user = f"{given['user']}@" if "user" in given else ""
    host = str(given.get("host", ""))
    port = f":{given['port']}" if "port" in given else ""
    return f"postgresql://{user}{host}{port}/{given.get('dbname', '')}"
