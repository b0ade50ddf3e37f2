"""Exact tokenizers: two implementations with the same counts."""

from pageturn.tokens.encodings.contract import Encoding, encoding

__all__ = ["Encoding", "encoding"]
