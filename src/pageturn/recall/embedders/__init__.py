"""Embedders: what turns text into vectors, so that recall finds what is meant and not only what is said.

`contract` is what each does; `minilm` runs a small model here, `endpoint` asks a server. A session takes one (`Session.open(embedder=...)`);
`embed` embeds a stored session at once.
"""

from pageturn.recall.embedders.beside import embed
from pageturn.recall.embedders.contract import Embedder, EmbedderFailed

__all__ = ["Embedder", "EmbedderFailed", "embed"]
