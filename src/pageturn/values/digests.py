"""Computes digests, which name bytes by their content."""

from hashlib import blake2b

_PIECE = 1_000_000  # characters encoded at a time, so that a large text is not in memory twice


def digest_of(data: bytes) -> str:
    """The name of a blob: the digest of its content."""
    return blake2b(data, digest_size=20).hexdigest()


def digest_of_text(text: str) -> str:
    """The name that a text would have as a blob."""
    if len(text) <= _PIECE:
        return digest_of(text.encode())
    digest = blake2b(digest_size=20)
    for at in range(0, len(text), _PIECE):
        digest.update(text[at : at + _PIECE].encode())
    return digest.hexdigest()
