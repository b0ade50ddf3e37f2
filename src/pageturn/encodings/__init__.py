"""Exact tokenizers: two interchangeable members that count the same."""

from pageturn.encodings.contract import Encoding, encoding

__all__ = ["Encoding", "encoding"]
