"""Counts with the compiled tokenizer of the extra `fast-tokens` (splintr, whose wheel has the ranks of each vocabulary)."""

import splintr

from pageturn.tokens.encodings.pieces import count_in_pieces


class NativeEncoding:
    """Exact and fast; used if it is installed."""

    def __init__(self, name: str) -> None:
        self._tokenizer = splintr.Tokenizer.from_pretrained(name)

    def count(self, text: str) -> int:
        return count_in_pieces(text, self._count)

    def _count(self, text: str) -> int:
        return len(self._tokenizer.encode_ordinary(text))
