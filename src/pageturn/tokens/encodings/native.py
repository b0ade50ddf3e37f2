"""Counts with the compiled tokenizer of the extra `fast-tokens` (splintr, whose wheel has the ranks of each vocabulary)."""

import splintr

from pageturn.tokens.encodings.contract import PIECES_END
from pageturn.values.passages import is_one, passages


class NativeEncoding:
    """Exact and fast; the one that is used where it is installed."""

    def __init__(self, name: str) -> None:
        self._tokenizer = splintr.Tokenizer.from_pretrained(name)

    def count(self, text: str) -> int:
        if is_one(text):
            return len(self._tokenizer.encode_ordinary(text))
        return sum(len(self._tokenizer.encode_ordinary(passage)) for passage in passages(text, PIECES_END))
