"""What an encoding does: count the tokens of a text exactly, offline, with special tokens counted as text."""

from typing import Protocol


class Encoding(Protocol):
    """A tokenizer of one vocabulary."""

    @property
    def name(self) -> str:
        """The vocabulary, for instance `o200k_base`."""
        ...

    def count(self, text: str) -> int:
        """How many tokens the text has; raises UnicodeEncodeError on a lone surrogate."""
        ...
