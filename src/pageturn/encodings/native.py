"""The compiled tokenizer: splintr carries the ranks of each vocabulary inside its wheel."""

import splintr

from pageturn.encodings.contract import PIECES_END
from pageturn.passages import passages


class NativeEncoding:
    """Fast and exact; the one that is used where its wheel installs."""

    def __init__(self, name: str) -> None:
        self._tokenizer = splintr.Tokenizer.from_pretrained(name)

    def count(self, text: str) -> int:
        return sum(len(self._tokenizer.encode_ordinary(passage)) for passage in passages(text, PIECES_END))
