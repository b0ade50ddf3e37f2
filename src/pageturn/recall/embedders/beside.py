"""Begins what a session with an embedder needs beside its turns. NumPy is imported here, and only with an embedder."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from pageturn.journal.journal import Journal
from pageturn.recall.embedders.contract import Embedder
from pageturn.stores import VectorStore
from pageturn.values.checks import require_finite, require_instance, require_text
from pageturn.values.errors import InvalidInput, show

if TYPE_CHECKING:
    from pageturn.recall.background import Background


def embedding(journal: Journal, embedder: Embedder, clock: Callable[[], datetime]) -> "Background":
    """The thread that embeds what a session says; raises where the embedder, the store or NumPy does not do for that."""
    require_instance("embedder", embedder, Embedder)
    require_text("embedder.name", embedder.name)
    require_finite("embedder.dimension", embedder.dimension, at_least=1)
    store, session = journal.store, journal.row.id
    if not isinstance(store, VectorStore):
        raise InvalidInput("embedder", expected="a store that keeps vectors", got=show(type(store).__name__))
    try:
        from pageturn.recall.background import Background  # noqa: PLC0415
        from pageturn.recall.vectors import Meaning  # noqa: PLC0415
    except ImportError as error:
        raise InvalidInput("embedder", expected="NumPy (pip install 'pageturn[embed]')", got=str(error)) from error
    return Background(Meaning(store, embedder, clock), lambda: Journal.open(store, session))
