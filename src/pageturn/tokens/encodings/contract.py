"""Defines an encoding, and selects one: the compiled one if it is installed, otherwise the portable one."""

from functools import cache
from typing import Protocol

from pageturn.values.errors import MissingTokenizer


class Encoding(Protocol):
    """A tokenizer of one vocabulary: exact, offline, with special tokens counted as text."""

    def count(self, text: str) -> int:
        """How many tokens the text has; raises UnicodeEncodeError on a lone surrogate."""
        ...


@cache
def encoding(name: str) -> Encoding:
    """The tokenizer of a vocabulary, loaded once."""
    # Imported here because each loads a package of its own, and many sessions are only read.
    try:
        from pageturn.tokens.encodings.native import NativeEncoding  # noqa: PLC0415

        return NativeEncoding(name)
    except ImportError:
        pass
    try:
        from pageturn.tokens.encodings.portable import PortableEncoding  # noqa: PLC0415

        return PortableEncoding(name)
    except ImportError as error:
        raise MissingTokenizer(f"no tokenizer for {name}: pip install regex, which pageturn asks for") from error
