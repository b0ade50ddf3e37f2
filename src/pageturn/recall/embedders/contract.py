"""Defines what an embedder does."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from pageturn.values.errors import PageturnError


class EmbedderFailed(PageturnError):
    """An embedder has no vectors for texts now. Recall goes on by words, and says so."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors: the closer two are in meaning, the greater the cosine of theirs. It may be called by two threads at once."""

    @property
    def name(self) -> str:
        """Which vectors these are. They are stored under it: what was embedded under another name is embedded again."""
        ...

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed(self, texts: Sequence[str]) -> Any:
        """One vector of length 1 for each text: an array with a row for each, or lists of floats."""
        ...
