"""Exact tokenizers: two interchangeable members that count the same."""

from pageturn.encodings.choice import encoding
from pageturn.encodings.contract import Encoding

__all__ = ["Encoding", "encoding"]
