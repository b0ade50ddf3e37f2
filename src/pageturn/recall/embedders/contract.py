"""Defines what an embedder does."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from pageturn.values.errors import PageturnError

_LEAST_COSINE = 0.2  # of an embedder that does not say


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
        """One vector for each text: an array with a row for each, or lists of floats. Only its direction counts, and it has one."""
        ...


def least_cosine(embedder: Embedder) -> float:
    """How near a passage has to be to a query to be found though it has no word of it: the attribute `least_cosine`, which an embedder may have."""
    return float(getattr(embedder, "least_cosine", _LEAST_COSINE))
