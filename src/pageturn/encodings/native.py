"""The compiled tokenizer: splintr carries the ranks of each vocabulary inside its wheel."""

import splintr


class NativeEncoding:
    """Fast and exact; the one that is used where its wheel installs."""

    def __init__(self, name: str) -> None:
        self._tokenizer = splintr.Tokenizer.from_pretrained(name)

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode_ordinary(text))
