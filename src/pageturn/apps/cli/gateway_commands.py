"""The commands of the gateway: `serve`, and `run` with a client behind it."""

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from pageturn.apps.cli import journals
from pageturn.apps.cli.answers import Check, Installation, Savings, SavingsLine
from pageturn.apps.cli.documented import Documented
from pageturn.apps.cli.extras import imported
from pageturn.apps.cli.options import GATEWAYS_STORE
from pageturn.apps.cli.prefixes import named, one_of
from pageturn.apps.cli.prices import chosen_price, price_options
from pageturn.apps.cli.terminal import answered, complain, inert, terminal
from pageturn.values.errors import InvalidInput
from pageturn.values.model_prices import prices_from

_OPTIONS = (
    click.option(
        "--mode",
        metavar="watch|manage|recall",
        help="watch (the default) changes nothing; manage shortens; recall lets the model look back too.",
    ),
    click.option(
        "--room",
        metavar="TOKENS",
        help="Token limit of the conversation, in addition to the client's own prompt and tools; by default 48000.",
    ),
    click.option("--store", help="The store of the sessions; `none` stores nothing; by default one file for all."),
    click.option(
        "--anthropic", metavar="URL", help="Base URL of Anthropic's API; by default ANTHROPIC_BASE_URL or the vendor's."
    ),
    click.option(
        "--openai",
        metavar="URL",
        help="Base URL of OpenAI's API, as .../v1; by default OPENAI_BASE_URL or the vendor's.",
    ),
    click.option("--ca-file", metavar="FILE", help="Certificates to trust in addition to the system's."),
    click.option("--config", "file", type=click.Path(path_type=Path), help="The settings file."),
)


def _settings(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command(cls=Documented, example="serve --mode manage --port 8787")
@_settings
@click.option("--host", help="The address to listen on; by default this machine only.")
@click.option("--port", help="The port; by default 8787, and 0 picks a free one.")
@click.option("--token", help="A token that clients must send as x-pageturn-token; better set in PAGETURN_TOKEN.")
@click.option("--print-config", is_flag=True, help="Print the current settings as a commented settings file, and exit.")
def serve(file: Path | None, *, print_config: bool, **flags: Any) -> None:
    """Listen as a gateway in front of the providers: clients use it as their base URL."""
    config = _imported("config").load_config(flags, file)
    if print_config:
        click.echo(_imported("config").commented(config), nl=False)
        return
    if config.logs == "text":
        logging.basicConfig(format="pageturn: %(message)s", level=logging.WARNING)
    _imported("running").serve(config, _say)


@click.command(
    cls=Documented,
    example="run --mode manage -- claude",
    others="what the client exited with",
    context_settings={"allow_interspersed_args": False},
)
@_settings
@click.argument("command", metavar="CLIENT [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED)
def run(file: Path | None, command: tuple[str, ...], **flags: Any) -> None:
    """Run a client behind its own gateway, as in `pageturn run -- claude`. Exits with the client's exit code."""
    config = _imported("config").load_config(flags, file)
    sys.exit(_imported("running").run_client(config, command, _say))


@click.command(cls=Documented, example="savings --model claude-sonnet-5", prints=Savings)
@GATEWAYS_STORE
@click.option("--session", "-s", "only", help="The session: its id, or the beginning of it; by default all of them.")
@click.option(
    "--room",
    default=48_000,
    show_default=True,
    type=click.IntRange(4_000),
    help="The room that the estimate assumes, as for `run`.",
)
@price_options
def savings(store: str | None, only: str | None, room: int, **priced: Any) -> None:
    """What the sessions of a gateway cost, and an estimate of what they would have cost managed, or whole."""
    accounts = _imported("savings")
    path = store if store is not None else str(_imported("config").usual_store())
    given, prices = chosen_price(priced["model"], priced["price"], None), priced["prices"]
    own = prices_from(prices.read_text(encoding="utf-8", errors="replace"), str(prices)) if prices is not None else {}
    with journals.opened(path) as opened:
        rows = [row.id for row in opened.sessions()]
        if only is not None:
            rows = [one_of("session", only, rows, expected=f"a session of this store ({named(rows)})")]
        found = [accounts.account_of(opened, row, room=room, own=own, price=given) for row in rows]
    kept = [each for each in found if each is not None]
    if not kept:
        raise InvalidInput("store", expected="sessions with usage that a provider reported", got="none")
    if answered(Savings(tuple(map(_line, kept)))):
        return
    told = [(f"{account.session} ({account.model})", [account]) for account in kept]
    console = terminal()  # names are the client's
    for title, some in [*told, *([("in all", kept)] if len(kept) > 1 else [])]:
        for line in (title, *(f"  {line}" for line in accounts.lines(some))):
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _line(account: Any) -> SavingsLine:
    return SavingsLine(
        session=account.session,
        model=account.model,
        turns=account.turns,
        folds=account.folds,
        is_managed=account.is_managed,
        input_tokens=account.used.input_tokens,
        cache_read_tokens=account.used.cache_read_tokens,
        cache_write_tokens=account.used.cache_write_tokens,
        output_tokens=account.used.output_tokens,
        dollars=account.dollars,
        dollars_otherwise_least=account.least,
        dollars_otherwise_most=account.most,
    )


def show_installation(console: Console, file: Path | None) -> bool:
    """Print the checks of an installation; returns whether all of them passed."""
    checks = [Check(each.is_ok, each.what) for each in _imported("installation").look(file, os.environ)]
    answered(Installation(tuple(checks)))
    for finding in checks:
        told = inert(f"{'ok ' if finding.is_ok else 'BAD'} {finding.what}")
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    return all(finding.is_ok for finding in checks)


def _imported(name: str) -> Any:
    """A module of the gateway."""
    return imported(f"gateway.{name}", "the gateway", extra="gateway")


def _say(text: str) -> None:
    complain(f"pageturn: {text}")
