"""Defines the interface of an embedder."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from pageturn.values.errors import PageturnError

_LEAST_COSINE = 0.2  # for an embedder that does not define one


class EmbedderFailed(PageturnError):
    """An embedder cannot compute vectors now. Recall continues by words, and says so."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors: the closer two texts are in meaning, the greater the cosine of their vectors. Two threads may call it at
    once.
    """

    @property
    def name(self) -> str:
        """The name of this kind of vector. Vectors are stored under it: texts embedded under another name are embedded again."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Any:
        """One vector per text: an array with a row for each, or lists of floats. Only the direction counts; a vector of zeros is refused."""
        ...


def least_cosine(embedder: Embedder) -> float:
    """The least cosine at which a passage is found that shares no word with the query: the optional attribute `least_cosine` of an
    embedder.
    """
    return float(getattr(embedder, "least_cosine", _LEAST_COSINE))
