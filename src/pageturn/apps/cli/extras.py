"""Imports modules whose packages come with an extra, when a command needs them: the others start without."""

from importlib import import_module
from typing import Any

from pageturn.values.errors import MissingExtra


def imported(module: str, what: str, *, extra: str) -> Any:
    """A module of `pageturn.apps`; raises `MissingExtra` if its packages are not installed."""
    try:
        return import_module(f"pageturn.apps.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("pageturn"):
            raise
        raise MissingExtra(what, extra=extra) from error
