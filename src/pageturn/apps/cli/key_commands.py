"""Defines `pageturn keys`: issues the gateway's own keys, lists them, and revokes them."""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from pageturn.apps.cli import journals
from pageturn.apps.cli.answers import IssuedKeys, KeyCreated, KeyLine, KeyRevoked
from pageturn.apps.cli.documented import Documented
from pageturn.apps.cli.extras import imported
from pageturn.apps.cli.options import GATEWAYS_STORE, StoreAndId, store_and_id
from pageturn.apps.cli.prefixes import one_of
from pageturn.apps.cli.tables import plain
from pageturn.apps.cli.terminal import answered, say, terminal
from pageturn.apps.gateway.tenants.keys import Keys, VirtualKey
from pageturn.apps.gateway.tenants.spending import Spending
from pageturn.stores import open_store
from pageturn.values.model_prices import money


@click.group()
def keys() -> None:
    """Issue keys of the gateway, each with a scope, a budget and limits. They apply if its settings have `keys = "virtual"`.

    Without a store, the gateway's is used.
    """


@keys.command(cls=Documented, example="keys create --scope team --budget 50 --per month", prints=KeyCreated, acts=True)
@GATEWAYS_STORE
@click.option("--scope", required=True, help="The scope of the key; keys of one scope share its sessions.")
@click.option("--name", default="", help="A name for the list of keys.")
@click.option("--budget", type=click.FloatRange(0), help="Dollars that may be spent in the period.")
@click.option(
    "--per", default="month", show_default=True, type=click.Choice(["day", "month", "total"]), help="The period."
)
@click.option("--requests-a-minute", type=click.IntRange(0), help="Counted by each gateway process for itself.")
@click.option("--tokens-a-minute", type=click.IntRange(0), help="Counted by each gateway process for itself.")
@click.option("--model", "models", multiple=True, help="A model that may be used; repeatable; by default all.")
@click.option("--retention-days", type=click.IntRange(1), help="For `pageturn retain`, instead of --older-than.")
def create(store: str | None, *, scope: str, per: str, models: tuple[str, ...], **allowed: Any) -> None:
    """Create a key and print it once: the store keeps only its digest."""
    kept = {name: value for name, value in allowed.items() if value is not None}
    path = Path(_path(store))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(open_store(str(path))) as opened:
        plain, key = Keys(opened).create(scope, period=per, models=models, **kept)
    if not answered(KeyCreated(plain, key.id, scope)):
        click.echo(plain)
        say(f"key {key.id} of scope {scope!r}; it is shown only once")


@keys.command("list", cls=Documented, example="keys list", prints=IssuedKeys)
@GATEWAYS_STORE
def list_(store: str | None) -> None:
    """List the keys: what each may do, and what it spent in this period. The keys themselves are not stored."""
    now = datetime.now(UTC)
    with journals.opened(_path(store)) as opened:
        spending = Spending(opened)
        lines = tuple(_line(key, spending.spent(key, now)) for key in Keys(opened).all())
    if answered(IssuedKeys(lines)):
        return
    table = Table("id", "name", "scope", "spent", "budget", "a minute", "models", "created", box=None)
    for key in lines:
        budget = "" if key.budget is None else f"{money(key.budget)} a {key.period}".replace("a total", "in all")
        limits = [f"{key.requests_a_minute} requests"] if key.requests_a_minute is not None else []
        limits += [f"{key.tokens_a_minute:,} tokens"] if key.tokens_a_minute is not None else []
        table.add_row(
            key.id,
            plain(key.name),
            plain(key.scope),
            money(key.spent),
            budget,
            ", ".join(limits),
            plain(", ".join(key.models)) or "all",
            f"{key.created_at:%Y-%m-%d}" if key.revoked_at is None else f"revoked {key.revoked_at:%Y-%m-%d}",
        )
    terminal().print(table)


def _line(key: VirtualKey, spent: float) -> KeyLine:
    return KeyLine(
        key.id,
        key.name,
        key.scope,
        spent,
        key.budget,
        key.period,
        key.requests_a_minute,
        key.tokens_a_minute,
        key.models,
        key.created_at,
        key.revoked_at,
    )


@keys.command(cls=Documented, example="keys revoke 1f3c9a20", prints=KeyRevoked, acts=True)
@store_and_id
def revoke(wanted: StoreAndId) -> None:
    """Revoke a key: from the next request on, every gateway on the store refuses it. The beginning of its ID is enough."""
    with journals.opened(_path(wanted.store)) as opened:
        known = (key.id for key in Keys(opened).all())
        id_ = one_of("ID", wanted.id, known, expected="one that `pageturn keys list` shows")
        key = Keys(opened).revoke(id_)
    if not answered(KeyRevoked(key.id, key.scope)):
        say(f"key {key.id} of scope {key.scope!r} is revoked")


def _path(store: str | None) -> str:
    return store if store is not None else str(imported("gateway.config", "the gateway", extra="gateway").usual_store())
