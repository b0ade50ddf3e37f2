"""Exact tokenizers: two interchangeable members that count the same."""

from pageturn.tokens.encodings.contract import Encoding, encoding

__all__ = ["Encoding", "encoding"]
