"""Checks an installation: versions, settings, permissions of files, whether the upstreams answer, and whether the clock is right."""

import asyncio
import stat
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from pageturn.apps.gateway.config import VIRTUAL, Config, load_config, usual_file
from pageturn.apps.gateway.headers import value_of
from pageturn.apps.gateway.upstream import Unreachable, UpstreamClient, origin
from pageturn.values.errors import InvalidInput

_PACKAGES = ("aiohttp", "uvicorn", "starlette", "mcp", "opentelemetry-sdk", "prometheus-client", "structlog")
_PATIENCE = 10.0  # seconds with an upstream
_MOST_SKEW = 60.0  # seconds that a clock may be wrong: keys and budgets go by it


class Finding(NamedTuple):
    """One thing that was looked at."""

    is_ok: bool
    what: str


def look(file: Path | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    """All that can be seen from here."""
    yield Finding(is_ok=True, what=f"Python {sys.version.split()[0]}, pageturn {version('pageturn')}; {_packages()}")
    path = file or usual_file(environ)
    try:
        config = load_config({}, file, environ)
    except InvalidInput as error:
        yield Finding(is_ok=False, what=str(error))
        return
    source = f"settings file {path}" if path.is_file() else f"no settings file ({path}): defaults and variables"
    yield Finding(is_ok=True, what=f"{source}; {config.mode} mode at {config.host}, port {config.port}")
    yield from _permissions(path, config)
    yield from _keys(config)
    yield from asyncio.run(_upstreams(config))


def _packages() -> str:
    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


def _permissions(path: Path, config: Config) -> Iterator[Finding]:
    store = config.store_file
    if path.is_file() and config.token is not None and _is_public(path):
        yield Finding(is_ok=False, what=f"{path} may have a token, and others can read it: chmod 600 {path}")
    if store is None:
        return
    if not store.exists():
        yield Finding(is_ok=True, what=f"the store {store} will be created at the first start")
    elif _is_public(store):
        yield Finding(is_ok=False, what=f"others can read the store: chmod 600 {store}*")
    else:
        yield Finding(is_ok=True, what=f"the store {store} is readable by its owner only")


def _is_public(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def _keys(config: Config) -> Iterator[Finding]:
    for name, server in config.routes.servers.items():
        if server.key is None:
            continue
        try:
            server.key.read()
        except InvalidInput as error:
            yield Finding(is_ok=False, what=f"the key of upstream {name}: {error}")
        else:
            yield Finding(is_ok=True, what=f"the key of upstream {name} is at {server.key.reference}")
    if config.keys == VIRTUAL and not any(server.key for server in config.routes.servers.values()):
        yield Finding(is_ok=False, what="virtual keys need a provider's key, as [upstreams.openai] key = ...")


async def _upstreams(config: Config) -> list[Finding]:
    bases = {origin(base) for base in config.bases.values()} | {
        server.base.root for server in config.routes.servers.values()
    }
    client = UpstreamClient(config.ca_file)
    await client.open()
    try:
        found = await asyncio.gather(*(_answers(client, origin(base)) for base in sorted(bases)))
    finally:
        await client.close()
    return [each for some in found for each in some]


async def _answers(client: UpstreamClient, base: str) -> list[Finding]:
    try:
        async with asyncio.timeout(_PATIENCE), client.ask("HEAD", f"{base}/", (), None) as answer:
            date = value_of(answer.headers, b"date")
    except Unreachable as error:
        return [Finding(is_ok=False, what=str(error))]
    except TimeoutError:
        return [Finding(is_ok=False, what=f"{base} gave no answer in {_PATIENCE:g} seconds")]
    found = [Finding(is_ok=True, what=f"{base} answers")]
    try:
        skew = (datetime.now(UTC) - parsedate_to_datetime(date or "")).total_seconds()
    except (TypeError, ValueError):
        return found
    if abs(skew) > _MOST_SKEW:
        found.append(Finding(is_ok=False, what=f"the clock is {skew:+.0f} seconds from that of {base}"))
    return found
