"""The arguments and options that many commands share, and how a shell completes them."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from pageturn.stores import open_store
from pageturn.values.errors import PageturnError


def _files(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")]


def _session_ids(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ids of the store that was typed before."""
    typed = [context.params.get("store"), *context.args]  # click leaves arguments there if an option lacks its value
    store = next((str(each) for each in typed if each and Path(each).is_file()), None)
    if store is None:
        return []
    try:
        with closing(open_store(store, read_only=True)) as opened:
            return [CompletionItem(row.id) for row in opened.sessions() if row.id.startswith(incomplete)]
    except (PageturnError, OSError):
        return []  # in the middle of a line there is no place for an error


STORE = click.argument("store", shell_complete=_files)
GATEWAYS_STORE = click.argument("store", required=False, shell_complete=_files)  # by default the one of the gateway
SESSION = click.option(
    "--session",
    "-s",
    help="The session: its id, or the beginning of it; by default the newest one.",
    shell_complete=_session_ids,
)
SCOPE = click.option("--scope", help="The scope of the session, if it has one.")
INTERNAL = click.option("--internal", is_flag=True, help="Include content that only the model may see.")
BUDGET = click.option("--budget", type=click.IntRange(1), help="Token budget; by default what the policy allows.")
MODEL = click.option("--model", help="The model; by default the one of the last turn.")
ROWS = click.option(
    "--rows", default=40, show_default=True, type=click.IntRange(1), help="Maximum number of table rows."
)


class StoreAndId(NamedTuple):
    """An id in a store; without a store, in the one of the gateway."""

    store: str | None
    id: str


def _store_and_id(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> StoreAndId:
    match value:
        case (id_,):
            return StoreAndId(None, id_)
        case (store, id_):
            return StoreAndId(store, id_)
    raise click.UsageError(f"expected {parameter.metavar}, got {len(value)} arguments", context)


def store_and_id(command: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments `[STORE] ID`: the store comes first, as everywhere, and may be left out."""
    wanted = click.argument(
        "wanted", metavar="[STORE] ID", nargs=-1, required=True, callback=_store_and_id, shell_complete=_files
    )
    return wanted(command)
