"""Reads the tables `[models]` and `[upstreams]` of the settings file: which names are routed, to whom, and what that costs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pageturn.apps.gateway.endpoints import ANTHROPIC, OPENAI, Upstream
from pageturn.apps.gateway.key_references import EXPECTED, Secret
from pageturn.routing import Declared, Limits, read_declared
from pageturn.routing.prices import VALUE_OF_SUCCESS
from pageturn.values.errors import InvalidInput, UnknownPrice, show
from pageturn.values.model_prices import ModelPrice, price_of

FORMATS = (ANTHROPIC, OPENAI)
TABLES = ("models", "upstreams")
_OF_UPSTREAM = ("url", "format", "key")
_OF_MODEL = ("candidates", "value", "most_money", "least_success", "first_byte_seconds", "scores", "strengths")
_OF_CANDIDATE = ("upstream", "model", "price", "window", "requests_a_minute", "tokens_a_minute")
# Seconds; ten times as long for an answer that is not streamed, whose first byte comes with its last.
_FIRST_BYTE = 60.0
_OF_CLIENT = "client"

Place = Callable[..., str]  # where in the file a setting is
Url = Callable[[Any], str]


class Server(NamedTuple):
    """Where models are: a base URL, the format that it speaks, and the key for it; without one, the client's own is forwarded."""

    name: str
    format: str
    base: Upstream
    key: Secret | None


class Candidate(NamedTuple):
    """A model at an upstream. `agent` is its name in the routing state."""

    agent: str
    server: Server
    model: str
    price: ModelPrice | None  # None where it costs nothing
    limits: Limits


class RoutedModel(NamedTuple):
    """A name that clients use, and who may answer."""

    name: str
    candidates: tuple[Candidate, ...]
    value: float = VALUE_OF_SUCCESS
    most_money: float | None = None
    least_success: float | None = None
    first_byte_seconds: float = _FIRST_BYTE
    declared: tuple[Declared, ...] = ()

    def speaking(self, format_: str) -> tuple[Candidate, ...]:
        """The candidates that understand a client's format."""
        return tuple(each for each in self.candidates if each.server.format == format_)


class RouteSettings(NamedTuple):
    """What the file says of routing."""

    models: Mapping[str, RoutedModel] = {}
    servers: Mapping[str, Server] = {}


def read_routes(
    values: Mapping[str, Any], bases: Mapping[str, str], place: Place, url: Url, folder: Path
) -> RouteSettings:
    """The settings; raises `InvalidInput` with the place of the first that cannot be. `bases` are the upstreams of the vendors."""
    if not any(values.get(table) for table in TABLES):
        return RouteSettings()
    servers = {
        name: Server(name, name, Upstream.at(base, name), None) for name, base in bases.items() if name in FORMATS
    }
    for name, table in _tables(values, "upstreams", place):
        servers[name] = _server(name, table, servers.get(name), _Where(place, f"upstreams.{name}"), url)
    models = {}
    for name, table in _tables(values, "models", place):
        models[name] = _model(name, table, servers, _Where(place, f"models.{name}"), folder)
    return RouteSettings(models, servers)


class _Where(NamedTuple):
    """A table of the file."""

    place: Place
    table: str

    def at(self, name: str | None = None) -> str:
        return self.place(self.table, name) if name is not None else self.place(self.table)

    def known(self, given: Mapping[str, Any], names: Sequence[str]) -> None:
        for name in given:
            if name not in names:
                raise InvalidInput(self.at(name), expected=f"one of {', '.join(names)}", got=show(name))

    def number(self, given: Mapping[str, Any], name: str, usual: Any, most: float = 1e12) -> Any:
        value = given.get(name, usual)
        if value is not usual and (type(value) not in (int, float) or not 0 <= value <= most):
            raise InvalidInput(self.at(name), expected=f"a number from 0 to {most:g}", got=show(value))
        return value


def _tables(values: Mapping[str, Any], kind: str, place: Place) -> list[tuple[str, Mapping[str, Any]]]:
    tables = values.get(kind, {})
    for name, table in tables.items():
        if not isinstance(table, Mapping) or not name.strip():
            raise InvalidInput(place(kind, name), expected=f"a table [{kind}.{name}]", got=show(table))
    return list(tables.items())


def _server(name: str, table: Mapping[str, Any], known: Server | None, where: _Where, url: Url) -> Server:
    where.known(table, _OF_UPSTREAM)
    if "/" in name or "|" in name:
        raise InvalidInput(where.at(), expected="a name without / and |", got=show(name))
    format_ = table.get("format", known.format if known is not None else None)
    if format_ not in FORMATS or (known is not None and format_ != known.format):
        raise InvalidInput(where.at("format"), expected=f"one of {', '.join(FORMATS)}", got=show(format_))
    if "url" in table:
        try:
            base = Upstream.at(url(table["url"]), format_)
        except ValueError as error:
            raise InvalidInput(where.at("url"), expected=str(error), got=show(table["url"])) from None
    elif known is not None:
        base = known.base
    else:
        raise InvalidInput(where.at("url"), expected="a base URL", got="none")
    key = table.get("key")
    if key is None and ("url" in table or known is None):
        # A client's key belongs to its vendor: it goes elsewhere only where the file says so.
        raise InvalidInput(where.at("key"), expected=f'{EXPECTED}, or "{_OF_CLIENT}" to forward theirs', got="none")
    return Server(name, format_, base, None if key in (None, _OF_CLIENT) else Secret.at(key, where.at("key")))


def _model(
    name: str, table: Mapping[str, Any], servers: Mapping[str, Server], where: _Where, folder: Path
) -> RoutedModel:
    where.known(table, _OF_MODEL)
    given = table.get("candidates")
    if not isinstance(given, list) or not given or not all(isinstance(each, Mapping) for each in given):
        raise InvalidInput(where.at("candidates"), expected="a list of tables, at least one", got=show(given))
    candidates = tuple(_candidate(each, servers, where) for each in given)
    if len({each.agent for each in candidates}) < len(candidates):
        raise InvalidInput(where.at("candidates"), expected="each candidate once", got="one of them twice")
    return RoutedModel(
        name=name,
        candidates=candidates,
        value=where.number(table, "value", VALUE_OF_SUCCESS),
        most_money=where.number(table, "most_money", None),
        least_success=where.number(table, "least_success", None, most=1),
        first_byte_seconds=where.number(table, "first_byte_seconds", _FIRST_BYTE, most=3_600),
        declared=_declared(table, candidates, where, folder),
    )


def _candidate(table: Mapping[str, Any], servers: Mapping[str, Server], where: _Where) -> Candidate:
    where.known(table, _OF_CANDIDATE)
    server, model = servers.get(table.get("upstream", "")), table.get("model")
    if server is None:
        expected = f"an upstream: {', '.join(servers)}"
        raise InvalidInput(where.at("candidates"), expected=expected, got=show(table.get("upstream")))
    if not isinstance(model, str) or not model.strip() or "|" in model:
        raise InvalidInput(where.at("candidates"), expected="the model's name at the upstream", got=show(model))
    limits = {name: table[name] for name in ("window", "requests_a_minute", "tokens_a_minute") if name in table}
    try:
        taken = Limits(**limits)
    except (InvalidInput, TypeError) as error:
        raise InvalidInput(where.at("candidates"), expected="whole numbers as limits", got=str(error)) from None
    return Candidate(f"{server.name}/{model}", server, model, _price(model, table.get("price"), where), taken)


def _price(model: str, given: Any, where: _Where) -> ModelPrice | None:
    """What a model costs: as given, or as in the table; 0 for one of your own."""
    if given is None:
        try:
            return price_of(model)
        except UnknownPrice as error:
            expected = (
                f"price = [input, output, cached read, cache write] in dollars per million tokens for {model}, or 0"
            )
            raise InvalidInput(where.at("candidates"), expected=expected, got="none") from error
    if given == 0:
        return None
    numbers = given if isinstance(given, list) else []
    if not 2 <= len(numbers) <= 4 or not all(type(each) in (int, float) for each in numbers):
        raise InvalidInput(where.at("candidates"), expected="a price of two to four numbers, or 0", got=show(given))
    fresh, output, *cache = map(float, numbers)
    read, write = (*cache, *[fresh] * (2 - len(cache)))
    try:
        return ModelPrice(model, fresh, output, read, write)
    except InvalidInput as error:
        raise InvalidInput(where.at("candidates"), expected="a price above 0", got=str(error)) from None


def _declared(
    table: Mapping[str, Any], candidates: Sequence[Candidate], where: _Where, folder: Path
) -> tuple[Declared, ...]:
    """The scores of a file, for the candidates that it names."""
    path, strengths = table.get("scores"), table.get("strengths", {})
    if path is None:
        return ()
    if not isinstance(strengths, Mapping) or not all(type(each) in (int, float) for each in strengths.values()):
        raise InvalidInput(where.at("strengths"), expected="a number for each source", got=show(strengths))
    file = folder / Path(str(path)).expanduser()
    try:
        read = read_declared(file.read_text(), strengths)
    except (OSError, UnicodeError) as error:
        raise InvalidInput(where.at("scores"), expected="a table that can be read", got=str(error)) from error
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error.path}", expected=error.expected, got=error.got) from None
    names = {each.agent for each in candidates}
    return tuple(each for each in read if each.agent in names)
