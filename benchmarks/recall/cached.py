"""Keeps vectors in a file of their own, so that the same texts are embedded once for all runs."""

import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np


class Cached:
    """An embedder whose vectors are kept in a folder."""

    def __init__(self, embedder: Any, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self.dimension = embedder.name, embedder.dimension
        self.least_cosine = embedder.least_cosine
        self._embedder = embedder
        self._db = sqlite3.connect(folder / f"{self.name}.db", check_same_thread=False)
        self._db.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    def embed(self, texts: Sequence[str]) -> Any:
        keys = [blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in texts]
        known = {key: self._get(key) for key in keys}
        new = {key: text for key, text in zip(keys, texts, strict=True) if known[key] is None}
        for key, vector in zip(new, self._embedder.embed([*new.values()]) if new else (), strict=True):
            known[key] = np.asarray(vector, np.float32)
            self._db.execute("INSERT OR REPLACE INTO vectors VALUES (?,?)", (key, known[key].tobytes()))
        self._db.commit()
        return np.array([known[key] for key in keys])

    def _get(self, key: bytes) -> Any:
        found = self._db.execute("SELECT vector FROM vectors WHERE text = ?", (key,)).fetchone()
        return None if found is None else np.frombuffer(found[0], np.float32)
