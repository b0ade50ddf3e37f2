"""Embeds text by a server with an OpenAI-compatible `/embeddings`. Needs the extras `summaries` (HTTP) and `embed`.

Every text of a session, and every query, is sent to that server: text leaves this machine unless the server runs on it.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from pageturn.recall.embedders.contract import EmbedderFailed
from pageturn.values.checks import require_finite, require_text, require_whole
from pageturn.values.errors import InvalidInput, MissingExtra

_AT_ONCE = 64  # texts per request
_MOST_BYTES = 64_000_000  # of an answer


class _Vector(msgspec.Struct):
    embedding: list[float]
    index: int


class _Answer(msgspec.Struct):
    data: list[_Vector]


class EmbeddingEndpoint:
    """A model at a URL such as `http://127.0.0.1:8080/v1`. Text is sent there and nowhere else: redirects are not followed."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        dimension: int,
        key: str | None = None,
        timeout_seconds: float = 30.0,
        least_cosine: float = 0.2,
    ) -> None:
        require_text("url", url)
        require_text("model", model)
        require_whole("dimension", dimension)
        require_finite("timeout_seconds", timeout_seconds, at_least=0.001)
        require_finite("least_cosine", least_cosine, at_least=-1)
        if not url.startswith(("http://", "https://")):
            raise InvalidInput(
                "url", expected="http://host/path or https://host/path", got="a URL that begins with neither"
            )
        try:
            import httpx2  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtra("an embedder behind HTTP", extra="summaries") from error
        self.name = f"{model}-{dimension}"
        self.dimension = dimension
        self.least_cosine = least_cosine
        self._url = f"{url.rstrip('/')}/embeddings"
        self._model = model
        self._http: Any = httpx2
        headers = {"authorization": f"Bearer {key}"} if key is not None else {}
        self._client: Any = httpx2.Client(
            timeout=timeout_seconds, follow_redirects=False, trust_env=False, headers=headers
        )

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text; raises `EmbedderFailed`, whose message never quotes what was sent or answered."""
        vectors: list[list[float]] = []
        for first in range(0, len(texts), _AT_ONCE):
            vectors += self._asked(texts[first : first + _AT_ONCE])
        return vectors

    def _asked(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            answer = self._client.post(self._url, json={"model": self._model, "input": list(texts)})
        except (self._http.HTTPError, OSError) as error:
            raise EmbedderFailed(f"{self._url}: {type(error).__name__}") from error
        if answer.status_code != self._http.codes.OK or len(answer.content) > _MOST_BYTES:
            raise EmbedderFailed(f"{self._url}: HTTP {answer.status_code}")
        try:
            found = sorted(msgspec.json.decode(answer.content, type=_Answer).data, key=lambda each: each.index)
        except msgspec.DecodeError as error:
            raise EmbedderFailed(f"{self._url}: the answer is no list of vectors") from error
        if [each.index for each in found] != list(range(len(texts))):
            raise EmbedderFailed(f"{self._url}: {len(texts)} texts were sent, {len(found)} vectors came back")
        return [each.embedding for each in found]
