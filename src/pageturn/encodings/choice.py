"""Which encoding a machine gets: the compiled one where it is installed, the portable one elsewhere."""

from functools import cache

from pageturn.encodings.contract import Encoding
from pageturn.errors import MissingTokenizer


@cache
def encoding(name: str) -> Encoding:
    """The tokenizer of a vocabulary, loaded once."""
    try:
        from pageturn.encodings.native import NativeEncoding  # noqa: PLC0415

        return NativeEncoding(name)
    except ImportError:
        pass
    try:
        from pageturn.encodings.portable import PortableEncoding  # noqa: PLC0415

        return PortableEncoding(name)
    except ImportError as error:
        raise MissingTokenizer(
            f"no tokenizer for {name}: install splintr-rs, or regex where it has no wheel"
        ) from error
