"""Loads the configuration: flags, then our variables, then one TOML file, then the vendors' own variables, then defaults.

Each setting is one row of a table. An invalid value is an error that names the place where it was set.
"""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pageturn.apps.addresses import is_loopback
from pageturn.apps.gateway.endpoints import ANTHROPIC, CHATGPT, GEMINI, OPENAI, Upstream
from pageturn.apps.gateway.limits import Limits
from pageturn.apps.gateway.routes.settings import TABLES, RouteSettings, read_routes
from pageturn.stores import is_postgres
from pageturn.stores import shown as shown_url
from pageturn.values.errors import InvalidInput, show

VENDORS = (ANTHROPIC, OPENAI, CHATGPT, GEMINI)
MODES = ("watch", "manage", "recall")
LOGS = ("text", "json")
FORWARDED, VIRTUAL = "forwarded", "virtual"
_LEAST_ROOM = 4_000
_MOST_SECONDS = 86_400
NOTHING = "none"  # the value of `store` that stores nothing


class _Bad(ValueError):
    """What would have been a valid value."""


class _Setting(NamedTuple):
    name: str
    table: str  # of the file
    default: Any
    check: Callable[[Any], Any]  # the value as it is meant, or `_Bad`
    comment: str
    vendors_variable: str | None = None

    @property
    def variable(self) -> str:
        return f"PAGETURN_{self.name.upper()}{'_URL' if self.table == 'upstream' and self.name in VENDORS else ''}"


def _mode(value: Any) -> str:
    if value not in MODES:
        raise _Bad(f"one of {', '.join(MODES)}")
    return str(value)


def _room(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
    if type(number) is not int or number < _LEAST_ROOM:
        raise _Bad(f"a number of tokens, {_LEAST_ROOM:,} at least")
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Bad("a text")
    return value.strip()


def _billing_line(value: Any) -> str:
    if value not in ("keep", "drop"):
        raise _Bad("keep or drop")
    return str(value)


def _port(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
    if type(number) is not int or not 0 <= number < 1 << 16:
        raise _Bad("a port from 0 (any that is free) to 65535")
    return number


def _url(value: Any) -> str:
    parts = None
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
        is_url = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or an address that is none
        is_url = False
    if parts is None or not is_url or parts.query or parts.fragment or parts.username:
        raise _Bad("a base URL as http://HOST:PORT or https://HOST/PATH")
    return str(value).rstrip("/")


def _is_on(value: Any) -> bool:
    if value in (True, "on", "true", "1"):
        return True
    if value in (False, "off", "false", "0"):
        return False
    raise _Bad("true or false")


def _logs(value: Any) -> str:
    if value not in LOGS:
        raise _Bad(f"one of {', '.join(LOGS)}")
    return str(value)


def _keys(value: Any) -> str:
    if value not in (FORWARDED, VIRTUAL):
        raise _Bad(f"{FORWARDED} or {VIRTUAL}")
    return str(value)


def _count(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
    if type(number) is not int or not 0 < number < 1 << 40:
        raise _Bad("a whole number above 0")
    return number


def _seconds(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
    if type(number) is not int or not 0 < number <= _MOST_SECONDS:
        raise _Bad(f"a whole number of seconds, {_MOST_SECONDS:,} at most")
    return number


def _vendor(value: Any) -> str:
    if value not in VENDORS:
        raise _Bad(f"one of {', '.join(VENDORS)}")
    return str(value)


_SETTINGS = (
    _Setting(
        "mode", "gateway", "watch", _mode, "watch changes nothing; manage shortens; recall lets the model look back too"
    ),
    _Setting(
        "room", "gateway", 48_000, _room, "tokens above the client's own prompt and tools; applies to new sessions"
    ),
    _Setting("host", "gateway", "127.0.0.1", _text, "where to listen; any address but loopback needs a token"),
    _Setting("port", "gateway", 8787, _port, "0 picks a free one"),
    _Setting(
        "token",
        "gateway",
        None,
        _text,
        "the token that clients must send as x-pageturn-token; better set in PAGETURN_TOKEN",
    ),
    _Setting(
        "keys",
        "gateway",
        FORWARDED,
        _keys,
        "forwarded passes the clients' own keys; virtual requires keys of the gateway",
    ),
    _Setting(
        "store",
        "gateway",
        None,
        _text,
        f'the file of the sessions, or postgresql://HOST/DATABASE; "{NOTHING}" stores nothing',
    ),
    _Setting(
        "inspector",
        "gateway",
        True,
        _is_on,
        "a page for browsers at /inspect, with the token, or one that serve prints",
    ),
    _Setting("ca_file", "gateway", None, _text, "certificates to trust in addition to the system's"),
    _Setting("grace", "gateway", 30, _seconds, "seconds for unfinished answers when the gateway stops"),
    _Setting("half_life_days", "gateway", None, _count, "days after which the outcome of a routed call counts half"),
    _Setting("metrics", "telemetry", False, _is_on, "counts for Prometheus at /metrics"),
    _Setting("otlp", "telemetry", None, _url, "where an OpenTelemetry collector takes OTLP over HTTP"),
    _Setting("logs", "telemetry", "text", _logs, "text reports problems; json has a line for each request"),
    *(
        _Setting(name, "limits", usual, _seconds if name.endswith("_seconds") else _count, comment)
        for name, usual, comment in (
            ("connections", Limits().connections, "of clients, at once"),
            ("requests", Limits().requests, "unanswered, at once"),
            ("header_seconds", Limits().header_seconds, "until the headers of a request are complete"),
            ("body_seconds", Limits().body_seconds, "until its body is complete"),
            ("reading_seconds", Limits().reading_seconds, "for which a client may leave unread what was sent"),
            ("idle_seconds", Limits().idle_seconds, "for which an upstream may send nothing more of an answer"),
            ("body_bytes", Limits().body_bytes, "of a request"),
        )
    ),
    _Setting(ANTHROPIC, "upstream", "https://api.anthropic.com", _url, "", "ANTHROPIC_BASE_URL"),
    _Setting(
        OPENAI, "upstream", "https://api.openai.com/v1", _url, "with its version, as clients take it", "OPENAI_BASE_URL"
    ),
    _Setting(CHATGPT, "upstream", "https://chatgpt.com/backend-api/codex", _url, "OpenAI behind a ChatGPT account"),
    _Setting(GEMINI, "upstream", "https://generativelanguage.googleapis.com", _url, "", "GOOGLE_GEMINI_BASE_URL"),
    _Setting(
        "billing_line",
        "upstream",
        "keep",
        _billing_line,
        "drop takes out Claude Code's first line of instructions, which changes; for servers other than Anthropic's, except in watch",
    ),
    _Setting("other", "upstream", None, _vendor, "the vendor of a path that shows none; openai by default"),
)


class Config(NamedTuple):
    """The configuration of a gateway."""

    mode: str
    room: int
    host: str
    port: int
    token: str | None
    keys: str
    store: str | None  # the URL of a store; None stores nothing
    inspector: bool
    ca_file: str | None
    bases: Mapping[str, str]  # the base URL of each vendor
    billing_line: str
    other: str | None
    grace: int
    half_life_days: int | None
    metrics: bool
    otlp: str | None
    logs: str
    connections: int
    requests: int
    header_seconds: int
    body_seconds: int
    reading_seconds: int
    idle_seconds: int
    body_bytes: int
    routes: RouteSettings = RouteSettings()

    @property
    def upstreams(self) -> dict[str, Upstream]:
        """Where each vendor is."""
        return {vendor: Upstream.at(base, vendor) for vendor, base in self.bases.items()}

    @property
    def limits(self) -> Limits:
        """What clients may take."""
        return Limits(**{name: getattr(self, name) for name in Limits._fields})

    @property
    def store_file(self) -> Path | None:
        """The file of the store, where it is one."""
        if self.store is None or self.store == ":memory:" or is_postgres(self.store):
            return None
        return Path(self.store.removeprefix("sqlite:").partition("?")[0])


def load_config(flags: Mapping[str, Any], file: Path | None, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration; raises `InvalidInput` with the place of the first invalid value."""
    path = file or usual_file(environ)
    given = _File.read(path) if file is not None or path.is_file() else None
    found: dict[str, Any] = {}
    bases: dict[str, str] = {}
    for setting in _SETTINGS:
        value = _checked(setting, flags, given, environ)
        (bases if setting.name in VENDORS else found)[setting.name] = value
    routes = RouteSettings()
    if given is not None:
        routes = read_routes(given.values, bases, given.place, _url, path.parent)
    config = Config(**(found | {"store": _store(found["store"], environ)}), bases=bases, routes=routes)
    if config.keys == VIRTUAL and config.store is None:
        raise InvalidInput("store", expected="one, since keys are in it", got=NOTHING)
    if not is_loopback(config.host) and config.token is None and config.keys != VIRTUAL:
        raise InvalidInput("token", expected=f"one, since {config.host} is not this machine alone", got="none")
    return config


def _checked(setting: _Setting, flags: Mapping[str, Any], file: "_File | None", environ: Mapping[str, str]) -> Any:
    for where, value in _sources(setting, flags, file, environ):
        try:
            return setting.check(value)
        except _Bad as error:
            got = "another" if setting.name == "token" else show(value)
            raise InvalidInput(where, expected=str(error), got=got) from None
    return setting.default


def _sources(setting: _Setting, flags: Mapping[str, Any], file: "_File | None", environ: Mapping[str, str]) -> Any:
    """The places of a setting with their values; the first one counts."""
    if flags.get(setting.name) is not None:
        yield f"--{setting.name.replace('_', '-')}", flags[setting.name]
    if setting.variable in environ:
        yield setting.variable, environ[setting.variable]
    if file is not None and setting.name in file.values.get(setting.table, {}):
        yield file.place(setting.table, setting.name), file.values[setting.table][setting.name]
    if setting.vendors_variable and environ.get(setting.vendors_variable):
        yield setting.vendors_variable, environ[setting.vendors_variable]


class _File(NamedTuple):
    """A file of settings."""

    path: Path
    text: str
    values: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, path: Path) -> "_File":
        """The file; unknown settings are an error, since a misspelled one would silently have no effect."""
        try:
            text = path.read_text()
            values = tomllib.loads(text)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise InvalidInput(str(path), expected="a file that can be read", got=why) from error
        except UnicodeError as error:
            raise InvalidInput(str(path), expected="text in UTF-8", got=str(error)) from error
        except (ValueError, RecursionError) as error:  # a number of too many digits is a ValueError of its own
            line = re.search(r"line (\d+)", str(error))
            raise InvalidInput(f"{path}:{line[1] if line else 1}", expected="TOML", got=str(error)) from error
        file = cls(path, text, values)
        tables = {setting.table for setting in _SETTINGS}
        for table, settings in values.items():
            if table not in {*tables, *TABLES} or not isinstance(settings, dict):
                expected = " or ".join(f"[{name}]" for name in sorted((*tables, *TABLES)))
                raise InvalidInput(file.place(table), expected=expected, got=show(table))
            if table in TABLES:  # which are looked at where they are read
                continue
            known = [setting.name for setting in _SETTINGS if setting.table == table]
            for name in settings:
                if name not in known:
                    expected = f"one of {', '.join(known)}"
                    raise InvalidInput(file.place(table, name), expected=expected, got=show(name))
        return file

    def place(self, table: str, name: str | None = None) -> str:
        """Where a setting is: the file, its line, its name."""
        inside = ""
        for number, line in enumerate(self.text.splitlines(), 1):
            if line.lstrip().startswith("["):
                inside = line.partition("[")[2].partition("]")[0].strip(" \t\"'[")
                if name is None and inside == table:
                    return f"{self.path}:{number}"
            key = re.match(r"\s*[\"']?([\w.-]+)[\"']?\s*=", line)
            full = ".".join(filter(None, (inside, key[1]))) if key else None
            if full == (table if name is None else f"{table}.{name}"):
                return f"{self.path}:{number} ({name or table})"
        return f"{self.path} ({name or table})"


class SettingInfo(NamedTuple):
    """A setting, as the documentation lists it."""

    name: str
    table: str  # of the settings file
    variables: tuple[str, ...]  # of the environment; the first one counts
    accepts: str
    default: Any
    meaning: str


def every_setting() -> tuple[SettingInfo, ...]:
    """All settings, in the order of the file."""
    return tuple(
        SettingInfo(
            each.name,
            each.table,
            tuple(filter(None, (each.variable, each.vendors_variable))),
            _accepted_by(each.check),
            each.default,
            each.comment,
        )
        for each in _SETTINGS
    )


def _accepted_by(check: Callable[[Any], Any]) -> str:
    """What a check accepts, as its error says it."""
    try:
        check(None)
    except _Bad as error:
        return str(error)
    raise AssertionError(f"{check.__name__} accepts nothing as a value")


def usual_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The default path of the settings file."""
    return _folder(environ, "XDG_CONFIG_HOME", ".config") / "config.toml"


def usual_store(environ: Mapping[str, str] = os.environ) -> Path:
    """The default path of the store."""
    return _folder(environ, "XDG_DATA_HOME", ".local/share") / "gateway.db"


def commented(config: Config, environ: Mapping[str, str] = os.environ) -> str:
    """The settings file with the current values, each with its meaning. A token is not shown."""
    shown = {**config._asdict(), **config.bases, "token": None, "store": _shown_store(config)}
    lines = [f"# The settings of `pageturn serve` and `pageturn run`, read from {usual_file(environ)}."]
    for table in dict.fromkeys(setting.table for setting in _SETTINGS):
        lines += ["", f"[{table}]"]
        for setting in (each for each in _SETTINGS if each.table == table):
            value = shown[setting.name]
            note = f"  # {setting.comment}" if setting.comment else ""
            line = f"{setting.name} = {_toml(value)}" if value is not None else f'# {setting.name} = ""'
            lines.append(f"{line}{note}")
    names = [f"models.{name}" for name in config.routes.models] + [
        f"upstreams.{name}" for name in config.routes.servers
    ]
    lines += ["", "# In force too, as in your file: " + ", ".join(f"[{name}]" for name in names)] if names else []
    return "\n".join(lines) + "\n"


def _shown_store(config: Config) -> str:
    if config.store is not None and is_postgres(config.store):
        return shown_url(config.store)
    return str(config.store_file or NOTHING)


def _toml(value: object) -> str:
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else f'"{escaped}"'


def _store(given: str | None, environ: Mapping[str, str]) -> str | None:
    """The URL of the store. Not every append waits for the disk, since the client has the history and sends it again.

    Another program that locks the store for longer than a second would delay clients.
    """
    if given == NOTHING:
        return None
    if given is not None and (given.startswith(("sqlite:", ":memory:")) or is_postgres(given) or "?" in given):
        return given
    path = Path(given).expanduser() if given is not None else usual_store(environ)
    return f"sqlite:{path}?durability=normal&wait_seconds=1"


def _folder(environ: Mapping[str, str], variable: str, usual: str) -> Path:
    given = environ.get(variable)
    home = environ.get("HOME")
    base = Path(given) if given and Path(given).is_absolute() else (Path(home) if home else Path.home()) / usual
    return base / "pageturn"
