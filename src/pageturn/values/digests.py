"""Computes digests, which name bytes by their content."""

from hashlib import blake2b

_PIECE = 1_000_000  # characters of a text that are encoded at a time, so that a large one is not in memory twice


def digest_of(data: bytes) -> str:
    """The name of a blob: what it contains."""
    return blake2b(data, digest_size=20).hexdigest()


def digest_of_text(text: str) -> str:
    """The name that a text has as a blob."""
    if len(text) <= _PIECE:
        return digest_of(text.encode())
    digest = blake2b(digest_size=20)
    for at in range(0, len(text), _PIECE):
        digest.update(text[at : at + _PIECE].encode())
    return digest.hexdigest()
