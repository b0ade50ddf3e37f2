"""Embeds the pages of sessions: of an open one in the background, or of a stored one at once. Only this module imports NumPy, and only if
there is an embedder.
"""

import os
from collections.abc import Callable
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pageturn.journal.journal import Journal, require_scope
from pageturn.recall.embedders.contract import Embedder
from pageturn.stores import Store, VectorStore, open_store, path_of
from pageturn.values.checks import require_finite, require_instance, require_text
from pageturn.values.errors import InvalidInput, show
from pageturn.values.ids import require_session_id

if TYPE_CHECKING:
    from pageturn.recall.background import Background
    from pageturn.recall.vectors import Meaning


def embedding(journal: Journal, embedder: Embedder, clock: Callable[[], datetime]) -> "Background":
    """The thread that embeds a session's pages; raises if the embedder or the store is unsuitable, or NumPy is missing."""
    meaning = _meaning(journal.store, embedder, clock)
    from pageturn.recall.background import Background  # noqa: PLC0415

    return Background(meaning, lambda: Journal.open(journal.store, journal.row.id))


def embed(url: str | os.PathLike[str] | Store, id: str, embedder: Embedder, scope: str | None = None) -> int:  # noqa: A002
    """Embed all pages of a stored session that have no vectors yet, for example after an import; returns the number of pages.

    The scope of a session that has one must be named. An open session does the same by itself, in a background thread.
    """
    require_session_id(id)
    opened = nullcontext(url) if isinstance(url, Store) else closing(open_store(path_of(url), create=False))
    with opened as store:
        meaning = _meaning(store, embedder, lambda: datetime.now(UTC))
        journal = Journal.open(store, id)
        if journal is None:
            raise InvalidInput("id", expected="the id of a session of the store", got=show(id))
        require_scope(journal.row, scope)
        return meaning.embed(journal)


def _meaning(store: Store, embedder: Embedder, clock: Callable[[], datetime]) -> "Meaning":
    require_instance("embedder", embedder, Embedder)
    require_text("embedder.name", embedder.name)
    require_finite("embedder.dimension", embedder.dimension, at_least=1)
    if not isinstance(store, VectorStore):
        raise InvalidInput("embedder", expected="a store that keeps vectors", got=show(type(store).__name__))
    try:
        from pageturn.recall.vectors import Meaning  # noqa: PLC0415
    except ImportError as error:
        raise InvalidInput("embedder", expected="NumPy (pip install 'pageturn[embed]')", got=str(error)) from error
    return Meaning(store, embedder, clock)
