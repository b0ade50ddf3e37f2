"""Defines `pageturn keys`: gives out the gateway's own keys, lists them, and takes them back."""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from pageturn.apps.cli import journals
from pageturn.apps.cli.extras import imported
from pageturn.apps.cli.journals import plain
from pageturn.apps.cli.terminal import complain, terminal
from pageturn.apps.gateway.tenants.keys import Keys
from pageturn.apps.gateway.tenants.spending import Spending
from pageturn.stores import open_store
from pageturn.values.model_prices import money

_STORE = click.argument("store", required=False)


@click.group()
def keys() -> None:
    """Give out keys of the gateway, each with a scope, a budget and limits. They hold where the gateway has `keys = "virtual"`.

    Without a store it is the one of the gateway.
    """


@keys.command()
@_STORE
@click.option("--scope", required=True, help="Whose sessions these are; keys of one scope share them.")
@click.option("--name", default="", help="For your list.")
@click.option("--budget", type=click.FloatRange(0), help="Dollars that may be spent.")
@click.option("--per", default="month", show_default=True, type=click.Choice(["day", "month", "total"]))
@click.option("--requests-a-minute", type=click.IntRange(0), help="For each gateway process.")
@click.option("--tokens-a-minute", type=click.IntRange(0), help="For each gateway process.")
@click.option("--model", "models", multiple=True, help="A model that may be asked; repeatable; by default all.")
@click.option("--retention-days", type=click.IntRange(1), help="For `pageturn retain`; by default its own time.")
def create(store: str | None, *, scope: str, per: str, models: tuple[str, ...], **allowed: Any) -> None:
    """Make a key, and print it this once: the store keeps only its digest."""
    kept = {name: value for name, value in allowed.items() if value is not None}
    path = Path(_path(store))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(open_store(str(path))) as opened:
        plain, key = Keys(opened).create(scope, period=per, models=models, **kept)
    click.echo(plain)
    complain(f"pageturn: key {key.id} of scope {scope!r}; it is shown this once")


@keys.command("list")
@_STORE
def list_(store: str | None) -> None:
    """List the keys, with what they allow and what was spent in this period. The keys themselves are not stored."""
    now = datetime.now(UTC)
    table = Table("id", "name", "scope", "spent", "budget", "a minute", "models", "created", box=None)
    with journals.opened(_path(store)) as opened:
        spending = Spending(opened)
        for key in Keys(opened).all():
            budget = "" if key.budget is None else f"{money(key.budget)} a {key.period}".replace("a total", "in all")
            limits = [f"{key.requests_a_minute} requests"] if key.requests_a_minute is not None else []
            limits += [f"{key.tokens_a_minute:,} tokens"] if key.tokens_a_minute is not None else []
            table.add_row(
                key.id,
                plain(key.name),
                plain(key.scope),
                money(spending.spent(key, now)),
                budget,
                ", ".join(limits),
                plain(", ".join(key.models)) or "all",
                f"{key.created_at:%Y-%m-%d}" if key.revoked_at is None else f"revoked {key.revoked_at:%Y-%m-%d}",
            )
    terminal().print(table)


@keys.command()
@click.argument("id_", metavar="ID")
@_STORE
def revoke(id_: str, store: str | None) -> None:
    """Take a key back. It holds from the next request on, in every gateway on the store."""
    with journals.opened(_path(store)) as opened:
        key = Keys(opened).revoke(id_)
    complain(f"pageturn: key {key.id} of scope {key.scope!r} is revoked")


def _path(store: str | None) -> str:
    return store if store is not None else str(imported("gateway.config", "the gateway", extra="gateway").usual_store())
