"""Defines the options that give a model's prices, for every command that shows dollars."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from pageturn.stores.files import require_regular
from pageturn.values.model_prices import AS_OF, MODEL_PRICES, ModelPrice, given_price, price_of, prices_from

F = TypeVar("F", bound=Callable[..., Any])


def price_options(command: F) -> F:
    """The options `--model`, `--price` and `--prices`."""
    for option in (
        click.option(
            "--prices",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Your own table of prices, TOML or JSON; overrides the built-in table.",
        ),
        click.option(
            "--price",
            metavar="INPUT,OUTPUT[,READ[,WRITE]]",
            help="The price of the model, in dollars per million tokens, as 3,15,0.3,3.75.",
        ),
        click.option(
            "--model",
            help=f"The model whose list prices (of {AS_OF}) are used, as {next(iter(MODEL_PRICES))}.",
        ),
    ):
        command = option(command)
    return command


def chosen_price(model: str | None, price: str | None, prices: Path | None) -> ModelPrice | None:
    """The price that the options name, or None; raises for a model without a known price."""
    own = (
        prices_from(require_regular(prices).read_text(encoding="utf-8", errors="replace"), str(prices))
        if prices is not None
        else {}
    )
    if price is not None:
        return given_price(model or "a model", price)
    if model is not None:
        return price_of(model, own)
    if len(own) == 1:
        return next(iter(own.values()))
    if own:
        raise click.UsageError("--prices has several models: name one with --model")
    return None
