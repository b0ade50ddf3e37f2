"""Embedders: turn text into vectors, so that recall also finds a page by its meaning.

`contract` is the interface; `minilm` runs a small model locally, `endpoint` calls a server. A session takes one
(`Session.open(embedder=...)`); `embed` embeds a stored session at once.
"""

from pageturn.recall.embedders.contract import Embedder, EmbedderFailed
from pageturn.recall.embedders.embedding import embed

__all__ = ["Embedder", "EmbedderFailed", "embed"]
